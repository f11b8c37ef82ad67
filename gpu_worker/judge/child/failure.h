// Why an attempt ends before its last trial, in one place: what a child's outcome means for the submission, the
// problem, or us.
#pragma once

#include <string>
#include <variant>

#include "core/plan.h"
#include "core/verdict.h"
#include "gpu_worker/judge/child/child.h"

namespace kq::judge {

// The submission's or problem's ending, or our own failure.
using Stop = std::variant<Ended, Error>;
template <class T>
using Step = tl::expected<T, Stop>;

// What the child was doing. In `setup` it still runs our code only: whatever goes wrong there is ours.
enum class Phase { setup, load, run };

struct ChildActivity {
  ChildRole role = ChildRole::submission;
  Phase phase = Phase::setup;
  DeviceKind device = DeviceKind::cpu;
};

// The answer when it is an ok one, else why the attempt ends.
Step<Answered> accept(Expected<Outcome> outcome, const ChildActivity& doing);

// For the other reasons to stop.
tl::unexpected<Stop> stop(VerdictName name, Evidence evidence);
tl::unexpected<Stop> stop(Error error);

// An Evidence of these three; the rest is rarely needed.
Evidence evidence(Stage stage, std::string reason, std::string message);

}  // namespace kq::judge
