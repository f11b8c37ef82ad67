// The judge's end of the socket to the control process: plans come in with the children's channels, exits of children
// in between.
//
// Control tells of an exit at most once per child, and only between a plan and the next one. Calibrator and reference
// outlive a plan, so their exits are remembered until a fresh one comes; a submission's is forgotten with the next
// plan.
#pragma once

#include <map>

#include "gpu_worker/judge/child/child.h"
#include "gpu_worker/judge/child/exits.h"
#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"
#include "sys/fd.h"

namespace kq::judge {

struct PlanPacket {
  Plan plan;
  Channels channels;
};

class Control : public Exits {
 public:
  // Whom control tells of is among the device's bystanders from then on.
  Control(int socket, Device& device) : socket_(socket), device_(device) {}

  Expected<void> send_reply(const JudgeReply& reply);
  // Waits for the next plan. An Error: control is gone (ExitCode::nothing), or sent what it never sends.
  Expected<PlanPacket> next_plan();
  Expected<std::optional<int>> exit_of(ChildRole role, std::int64_t timeout_ms) override;

 private:
  Expected<std::optional<PlanPacket>> receive(std::int64_t timeout_ms);

  int socket_;
  Device& device_;
  std::optional<ConcurrentWarmUps> concurrent_warm_ups_;
  std::map<ChildRole, int> exits_;
};

}  // namespace kq::judge
