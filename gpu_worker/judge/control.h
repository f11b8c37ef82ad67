// The judge's end of the socket to the control process: plans come in with the children's channels, exits of children in between.
//
// Control tells of an exit at most once per child, and only between a plan and the next one. A reference child outlives its plan, so its
// exit is remembered until a fresh one comes; a submission's is forgotten with the next plan.
#pragma once

#include <vector>

#include "gpu_worker/fd.h"
#include "gpu_worker/judge/exits.h"

namespace kq::judge {

struct PlanPacket {
  Plan plan;
  std::vector<Fd> channels;  // [reference, submission] for a fresh reference, else [submission]
};

class Control : public Exits {
 public:
  explicit Control(int socket) : socket_(socket) {}

  Expected<void> say(const JudgeReply& reply);
  // Waits for the next plan. An Error: control is gone (ExitCode::nothing), or sent what it never sends.
  Expected<PlanPacket> next_plan();
  Expected<std::optional<int>> exit_of(ChildRole role, std::int64_t timeout_ms) override;

 private:
  Expected<std::optional<PlanPacket>> receive(std::int64_t timeout_ms);

  int socket_;
  std::optional<int> reference_exit_;
  std::optional<int> submission_exit_;
};

}  // namespace kq::judge
