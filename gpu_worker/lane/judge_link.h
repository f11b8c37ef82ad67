// The worker's connection to a judge process (gpu_worker/judge/judge_main.cc). The messages are in core/plan.h.
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

// Owns a judge process; the destructor kills it.
class JudgeLink {
 public:
  // Starts `program` on the processors `cores` (empty: all) and waits until its device is open. Fails with
  // ErrorKind::not_found if there is no such device.
  static Expected<std::unique_ptr<JudgeLink>> start(const std::string& program, DeviceKind device, int index,
                                                    const std::vector<int>& cores = {});
  ~JudgeLink();

  // Returns false once the judge has closed its socket, because it has ended or is about to.
  bool alive() const;
  int process() const { return pid_; }
  const DeviceInfo& device() const { return device_; }

  // Gives the judge the warm-up page. The caller does this before it sends the first plan.
  Expected<void> send_warm_up_page(const channel::WarmUpPage& warm_ups);
  // Sends a plan with the channels (socket descriptors) of the children that the judge does not know from an earlier
  // plan.
  Expected<void> send_plan(const Plan& plan, std::span<const int> channels);
  // Tells the judge that a child has ended.
  Expected<void> send_child_exit(const ChildExited& exited);
  // Waits at most `timeout_ms` for the report on the last plan. Returns nothing if the report has not arrived by then.
  // Fails if the judge has ended.
  Expected<std::optional<Report>> report(std::int64_t timeout_ms);

 private:
  JudgeLink() = default;
  int pid_ = 0;
  sys::Fd socket_;
  DeviceInfo device_;
};

}  // namespace kq::worker
