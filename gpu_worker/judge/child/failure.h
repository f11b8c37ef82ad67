// Failure classification: which verdict, or which error of kq, the outcome of a child's command means. All reasons for
// which an attempt ends before its last trial come from here.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/plan.h"
#include "core/verdict.h"
#include "gpu_worker/judge/child/child.h"

namespace kq::judge {

// Why an attempt ends: a verdict about the submission or the problem, or an error of kq.
using Stop = std::variant<Ended, Error>;
// A value, or why the attempt ends.
template <class T>
using Step = tl::expected<T, Stop>;

// What the child did when its command failed. In `setup` it runs kq's own code only, so any failure there is kq's.
enum class Phase { setup, load, run };

struct ChildActivity {
  ChildRole role = ChildRole::submission;
  Phase phase = Phase::setup;
};

// Returns the answer where it is an ok one. Otherwise returns why the attempt ends.
Step<Answered> accept(Expected<Outcome> outcome, const ChildActivity& activity);

// Return a Stop for reasons that are no outcome of a command.
tl::unexpected<Stop> stop(VerdictName name, Evidence evidence);
tl::unexpected<Stop> stop(Error error);

// Returns the evidence against a submission of which something runs while it has no call; `what` says what.
Evidence runs_between_calls(const std::string& what);

// Returns an Evidence with these three fields. The message is made printable and cut to kMessageTextMax bytes.
Evidence evidence(Stage stage, std::string reason, std::string_view message);

}  // namespace kq::judge
