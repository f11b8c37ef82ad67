// The judge's end of the socket to the control process.
//
// Theory of operation. The control process sends a plan together with the sockets of its children, and waits for the
// report. Between a plan and the next one it also reports each exit of a child, at most once per child. The calibrator
// and the reference outlive a plan, so their exits are kept until a plan brings a fresh child of that role. The exit of
// a submission is dropped with the next plan.
#pragma once

#include <map>

#include "gpu_worker/judge/child/child.h"
#include "gpu_worker/judge/child/exits.h"
#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"
#include "sys/fd.h"

namespace kq::judge {

// A plan and the sockets of its children.
struct PlanPacket {
  Plan plan;
  Channels channels;
};

// Receives plans and exits of children, and sends replies.
class Control : public Exits {
 public:
  // Once the control process has shared the page of concurrent warm-ups, the device uses that page.
  Control(int socket, Device& device) : socket_(socket), device_(device) {}

  Expected<void> send_reply(const JudgeReply& reply);
  // Waits for the next plan. Fails with ErrorKind::not_found where the control process is gone, and with our_fault
  // where it has broken the protocol.
  Expected<PlanPacket> next_plan();
  Expected<std::optional<int>> exit_of(ChildRole role, std::int64_t timeout_ms) override;

 private:
  // Waits for one message. Returns a plan, or nothing where the message was another one or the time is over.
  Expected<std::optional<PlanPacket>> receive(std::int64_t timeout_ms);

  int socket_;
  Device& device_;
  std::optional<ConcurrentWarmUps> concurrent_warm_ups_;
  std::map<ChildRole, int> exits_;
};

}  // namespace kq::judge
