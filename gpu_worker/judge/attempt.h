// One attempt from its plan to its report: the straight line of judging. See docs/architecture.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/plan.h"
#include "gpu_worker/judge/reference_side.h"
#include "gpu_worker/judge/submission_side.h"

namespace kq::judge {

// Judges attempts one after another, and keeps the reference child from one to the next.
class Judge {
 public:
  // `draw` gives 64 random bits that no child can know beforehand.
  Judge(Device& device, Exits& exits, Waiting waiting, std::function<std::uint64_t()> draw)
      : device_(device), exits_(exits), waiting_(waiting), draw_(std::move(draw)) {}

  // Always an answer. `channels` are [reference, submission] of a plan with a fresh reference, else [submission].
  Report run(const Plan& plan, std::vector<Fd> channels);

 private:
  Step<Verdict> attempt(const Plan& plan, std::vector<Fd> channels, Samples& samples);
  Step<void> load_reference(const Plan& plan, std::uint64_t seed);
  Step<void> run_trials(const Plan& plan, SubmissionSide& submission, Samples& samples);

  Device& device_;
  Exits& exits_;
  Waiting waiting_;
  std::function<std::uint64_t()> draw_;
  std::unique_ptr<ReferenceSide> reference_;
};

}  // namespace kq::judge
