// A burst: several short calls in one timed interval, so that its overhead is divided among them.
//
// Theory of operation. The window has up to kBurstSlotsPerCall times as many slots as a burst has calls. Each slot has
// inputs of its own and poisoned outputs.
//
//   slots    | 0 | 1 | 2 | 3 | 4 | ...
//   burst    go, slot 4 | call returns, slot 1 | call returns, ... | no slot | child synchronises, done | probe
//
// The judge's interval around one call has an error of one to two microseconds, which is the same for every call of a
// process, because it depends on where the process's context lies and how the GPU switches to it and back. The
// difference between an interval of kBurstCalls calls and one of a single call has neither that error nor the overhead:
//
//   time of a call = (interval of n calls - interval of one call) / (n - 1)
//
// The child sets no seed between the calls, because that takes ten times as long as the calls. So a problem whose
// reference draws random numbers has no bursts.
//
// Each call reads inputs that are in no cache, and every output is checked. The judge draws the slots at random, and
// names a slot only when the call before has returned. The outputs of all other slots must still be poison: a child
// that computes ahead of its calls also writes to slots that are never called. A burst cannot exclude a child that
// reports calls as returned which are not, and does the work of all calls in the last one. So a burst time may change
// the published time only within the error of single calls, and never below that (published_time.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu_worker/judge/child/window.h"
#include "gpu_worker/judge/trial/reference_side.h"
#include "gpu_worker/judge/trial/schedule.h"
#include "gpu_worker/judge/trial/submission_side.h"

namespace kq::judge {

inline constexpr std::uint32_t kBurstCalls = 8;
inline constexpr std::uint32_t kBurstSlotsPerCall = 4;
// The number of measured bursts. One more comes before them as a warm-up.
inline constexpr std::uint32_t kBursts = 6;
inline constexpr std::uint32_t kBurstsMin = 4;        // valid bursts that a burst time needs
inline constexpr std::uint32_t kEarlyBurstsMax = 1;   // bursts reported as done while the judge still had the device
inline constexpr std::uint32_t kBurstSinglesMin = 3;  // intervals of single calls that a burst time needs
inline constexpr std::uint64_t kBurstWindowBytesMax = 1ull << 30;
inline constexpr std::uint64_t kBurstOutputBytesMax = 64ull << 20;

// Runs the bursts of one submission.
class Burst {
 public:
  // Gives the submission a window with slots. Afterwards the submission can be called in bursts only. Returns null
  // where there is no room for the slots, in memory or in the tables.
  static Step<std::unique_ptr<Burst>> open(Device& device, SubmissionSide& submission, ReferenceSide& reference,
                                           const Plan& plan);

  struct Timed {
    std::int64_t interval_ns = 0;
    std::int64_t occupancy_gap_ns = 0;
    bool is_early = false;  // as in Answered
  };
  // Runs one burst on new inputs and checks every output.
  Step<Timed> run(const Plan& plan, const Draw& draw, std::uint32_t number, std::int64_t call_limit_ms);

 private:
  struct PreparedCall {
    std::unique_ptr<Memory> input_copies;
    std::unique_ptr<Memory> expected;
    std::unique_ptr<Memory> snapshot;
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
  };
  Burst(Device& device, SubmissionSide& submission, ReferenceSide& reference)
      : device_(device), submission_(submission), reference_(reference), checks_(device) {}
  Step<bool> make_room(const Plan& plan);
  Step<void> prepare(const Plan& plan, const Draw& draw, std::uint64_t seed);
  Step<void> make_reference_trial(const Plan& plan, std::span<const Seeds> seeds);
  std::vector<std::uint16_t> draw_slots(const Draw& draw) const;
  Expected<void> fill_slots(const std::vector<std::uint16_t>& called, std::uint32_t poison);
  Step<void> check_uncalled(const std::vector<std::uint16_t>& called, std::uint32_t number);
  std::uint64_t shift_of(std::uint32_t slot) const { return slot * reference_.layout().bytes(); }

  Device& device_;
  SubmissionSide& submission_;
  ReferenceSide& reference_;
  MemoryChecks checks_;
  std::vector<PreparedCall> calls_;
  std::unique_ptr<Memory> poison_;  // the outputs' region as it looks before a call
  std::uint32_t slots_ = 0;
};

// Returns the time of a call, from the intervals of valid bursts and of single calls. Returns 0 where there are too few
// of either.
double burst_call_time_ns(std::span<const std::int64_t> bursts_ns, std::span<const std::int64_t> singles_ns);

}  // namespace kq::judge
