#include "gpu_worker/judge/child/failure.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "core/limits.h"

namespace kq::judge {
namespace {

using channel::Failure;

Stage stage_of(Phase phase) {
  return phase == Phase::run ? Stage::run : Stage::load;
}
std::string phase_word(Phase phase) {
  return phase == Phase::run ? "run" : "load";
}

std::string signal_name(int signal) {
  const char* name = ::sigdescr_np(signal);
  return "signal " + std::to_string(signal) + (name == nullptr ? "" : std::string(" (") + name + ")");
}

// What happened, as a sentence about "it", the child.
std::string sentence(const Exited& exited) {
  if (WIFSIGNALED(exited.wait_status)) return "its process died of " + signal_name(WTERMSIG(exited.wait_status));
  return "it ended its process with status " + std::to_string(WEXITSTATUS(exited.wait_status));
}
std::string sentence(const TimedOut& timed_out, Phase phase) {
  return (phase == Phase::run ? "a call took longer than " : "loading took longer than ") +
         std::to_string(timed_out.limit_ms) + " ms";
}
std::string sentence(const Malformed& malformed) {
  return "it broke the protocol of its channel: " + malformed.what;
}

std::string sentence(const RanWhileStopped& ran) {
  return ran.what + " between two calls";
}

std::string sentence(const Outcome& outcome, Phase phase) {
  if (const auto* exited = std::get_if<Exited>(&outcome)) return sentence(*exited);
  if (const auto* timed_out = std::get_if<TimedOut>(&outcome)) return sentence(*timed_out, phase);
  if (const auto* malformed = std::get_if<Malformed>(&outcome)) return sentence(*malformed);
  if (const auto* ran = std::get_if<RanWhileStopped>(&outcome)) return sentence(*ran);
  return std::get<Answered>(outcome).text;
}

// ---- the submission ----

// The verdict for a failure that a submission reports about itself.
VerdictName claimed(Failure failure, const ChildActivity& activity) {
  const VerdictName otherwise = activity.phase == Phase::run ? VerdictName::runtime_error : VerdictName::load_failed;
  switch (failure) {
    case Failure::none:
    case Failure::problem_invalid:
      return otherwise;
    case Failure::wrong_form:
      return activity.phase == Phase::run ? VerdictName::wrong_answer : otherwise;
    case Failure::load_failed:
      return VerdictName::load_failed;
    case Failure::runtime_error:
      return otherwise;
    case Failure::out_of_host_memory:
    case Failure::out_of_gpu_memory:
      return VerdictName::out_of_memory;
    case Failure::gpu_fault:
      return VerdictName::gpu_fault;
    // The harness reports this on a GPU only for a language that is not installed, which another worker may have. The
    // verdict ranks nowhere and settles nothing, so a submission that claims it wins nothing.
    case Failure::unsupported_here:
      return VerdictName::unsupported_here;
  }
  return otherwise;
}

// The reason of a verdict for lack of memory.
const char* memory_reason(Failure failure) {
  return failure == Failure::out_of_gpu_memory ? "gpu" : "host";
}

Stop submission_failed(const Answered& answered, const ChildActivity& activity) {
  Evidence found = evidence(stage_of(activity.phase), {}, answered.text);
  const VerdictName name = claimed(answered.failure, activity);
  if (name == VerdictName::out_of_memory) found.reason = memory_reason(answered.failure);
  if (name == VerdictName::wrong_answer) {
    found.stage = Stage::judge;
    found.reason = "shape";
  }
  return Ended{name, std::move(found)};
}

Stop submission_exited(const Exited& exited, const ChildActivity& activity) {
  Evidence found = evidence(stage_of(activity.phase), {}, sentence(exited));
  if (!WIFSIGNALED(exited.wait_status)) {
    return Ended{activity.phase == Phase::run ? VerdictName::runtime_error : VerdictName::load_failed,
                 std::move(found)};
  }
  if ((exited.wait_status & kKilledForMemory) != 0) {
    found.reason = "host";
    return Ended{VerdictName::out_of_memory, std::move(found)};
  }
  const int signal = WTERMSIG(exited.wait_status);
  found.reason = "signal " + std::to_string(signal);
  if (signal == SIGKILL) found.hint = "the kernel kills a process when the machine has no more memory";
  if (signal == SIGSYS) found.hint = "the sandbox kills a process that asks for a forbidden system call";
  return Ended{VerdictName::crashed, std::move(found)};
}

Stop submission_ended(const Outcome& outcome, const ChildActivity& activity) {
  if (const auto* exited = std::get_if<Exited>(&outcome)) return submission_exited(*exited, activity);
  if (const auto* timed_out = std::get_if<TimedOut>(&outcome)) {
    return Ended{VerdictName::timed_out,
                 evidence(stage_of(activity.phase), phase_word(activity.phase), sentence(*timed_out, activity.phase))};
  }
  if (const auto* malformed = std::get_if<Malformed>(&outcome)) {
    Evidence found = evidence(stage_of(activity.phase), "tamper", sentence(*malformed));
    found.rule = "channel";
    return Ended{VerdictName::rejected, std::move(found)};
  }
  if (const auto* ran = std::get_if<RanWhileStopped>(&outcome))
    return Ended{VerdictName::rejected, runs_between_calls(sentence(*ran))};
  return submission_failed(std::get<Answered>(outcome), activity);
}

// ---- the reference ----

Stop reference_ended(const Outcome& outcome, const ChildActivity& activity) {
  VerdictName name = VerdictName::problem_invalid;
  std::string reason;
  if (const auto* exited = std::get_if<Exited>(&outcome);
      exited != nullptr && (exited->wait_status & kKilledForMemory) != 0) {
    name = VerdictName::too_large;
    reason = memory_reason(Failure::out_of_host_memory);
  }
  if (const auto* answered = std::get_if<Answered>(&outcome)) {
    const bool is_memory =
        answered->failure == Failure::out_of_host_memory || answered->failure == Failure::out_of_gpu_memory;
    if (is_memory) {
      name = VerdictName::too_large;
      reason = memory_reason(answered->failure);
    }
    if (answered->failure == Failure::unsupported_here) name = VerdictName::unsupported_here;
  }
  return Ended{name, evidence(stage_of(activity.phase), reason, "the reference: " + sentence(outcome, activity.phase))};
}

}  // namespace

Step<Answered> accept(Expected<Outcome> outcome, const ChildActivity& activity) {
  if (!outcome) return stop(outcome.error());
  if (auto* answered = std::get_if<Answered>(&*outcome); answered != nullptr && answered->ok)
    return std::move(*answered);
  if (activity.phase == Phase::setup) {
    return stop(Error{ErrorKind::our_fault, "a fresh " + std::string(to_string(activity.role)) +
                                                " child could not be set up: " + sentence(*outcome, activity.phase)});
  }
  return tl::unexpected<Stop>(activity.role == ChildRole::reference ? reference_ended(*outcome, activity)
                                                                    : submission_ended(*outcome, activity));
}

tl::unexpected<Stop> stop(VerdictName name, Evidence evidence) {
  return tl::unexpected<Stop>(Ended{name, std::move(evidence)});
}

tl::unexpected<Stop> stop(Error error) {
  return tl::unexpected<Stop>(std::move(error));
}

Evidence runs_between_calls(const std::string& what) {
  Evidence found = evidence(Stage::judge, "async", "of the submission " + what);
  found.rule = "between_calls";
  found.hint = "all work of a call must be done when it returns; start no thread or process of your own";
  return found;
}

Evidence evidence(Stage stage, std::string reason, std::string_view message) {
  Evidence evidence;
  evidence.stage = stage;
  evidence.reason = std::move(reason);
  evidence.message = sys::printable(message, kMessageTextMax);
  return evidence;
}

}  // namespace kq::judge
