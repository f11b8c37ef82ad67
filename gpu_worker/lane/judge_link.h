// Control's end of the judge process (gpu_worker/judge/judge_main.cc; messages in core/plan.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plan.h"
#include "gpu_worker/channel/warm_up.h"
#include "sys/fd.h"

namespace kq::worker {

class JudgeLink {
 public:
  // Starts PROGRAM and waits until its device is open. An Error with ExitCode::nothing: there is no such device here.
  static Expected<std::unique_ptr<JudgeLink>> start(const std::string& program, DeviceKind device, int index,
                                                    const std::vector<int>& cores = {});
  ~JudgeLink();

  // False once it has closed its socket: it is dead or about to be.
  bool alive() const;
  int process() const { return pid_; }
  const DeviceInfo& device() const { return device_; }

  // Before any plan: whom to stop while it measures.
  Expected<void> share(const channel::WarmUpPage& warming);
  Expected<void> begin(const Plan& plan, std::span<const int> channels);
  Expected<void> tell(const ChildExited& exited);
  // The Report of the plan begun last, or nothing within the time. An Error: the judge is gone.
  Expected<std::optional<Report>> report(std::int64_t timeout_ms);

 private:
  JudgeLink() = default;
  int pid_ = 0;
  sys::Fd socket_;
  DeviceInfo device_;
};

}  // namespace kq::worker
