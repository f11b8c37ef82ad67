#include "gpu_worker/core/second_attempt.h"

#include <signal.h>
#include <sys/wait.h>

namespace kq::worker {

bool is_killed_externally(int wait_status) {
  return (wait_status & kKilledForMemory) == 0 && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
}

bool is_death_of_child(const Verdict& verdict) {
  return name_of(verdict) == VerdictName::crashed || name_of(verdict) == VerdictName::problem_invalid;
}

bool is_short_of_device_memory(const Verdict& verdict, DeviceKind device) {
  const Evidence* const evidence = evidence_of(verdict);
  if (evidence == nullptr) return false;
  if (name_of(verdict) == VerdictName::out_of_memory) return evidence->reason == "gpu";
  return name_of(verdict) == VerdictName::too_large &&
         evidence->reason == (device == DeviceKind::cuda ? "gpu" : "host");
}

}  // namespace kq::worker
