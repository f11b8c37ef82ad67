// Several short calls in one interval, so that what the interval costs beside them is divided among them.
//
//   slots      | 0 | 1 | 2 | 3 | 4 | ... | up to 4 times as many as calls        each has inputs of its own and
//   poisoned outputs go, slot 4 named | call returns, slot 1 named | call returns, ... | none named | synchronised,
//   done | probe
//
// The judge's interval around one call carries an error of one to two microseconds that is the same for every call of a
// process: where its context lies, how the switch there and back goes. Between an interval of kBurstCalls calls and one
// of a single call that error, and the overhead with it, falls out:
//
//   share = (interval of n calls - interval of one) / (n - 1)
//
// Nothing is seeded between the calls: that takes ten times as long as they do. So a problem whose reference draws
// numbers has no bursts.
//
// Each call is on fresh inputs in memory that the cache has not seen since it was emptied, and every output is checked,
// as always. Which slots are called is not known before; a slot is named only when the call before has returned, and in
// the others the outputs must be poison still: who works ahead does it for slots that nobody asks for. What a burst
// cannot exclude is a child that says calls have returned which have not, and does the work of all in the last of them.
// So a share may refine what is published within the error of single calls, and never brings it below (attested.h).
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
inline constexpr std::uint32_t kBursts =
    6;  // that count; one more comes before them, for what is done for the first time
inline constexpr std::uint32_t kBurstsMin = 4;        // undisturbed ones that are enough
inline constexpr std::uint32_t kEarlyBurstsMax = 1;   // said to be done while the judge still had the device
inline constexpr std::uint32_t kBurstSinglesMin = 3;  // intervals of one call, to take off
inline constexpr std::uint64_t kBurstWindowBytesMax = 1ull << 30;
inline constexpr std::uint64_t kBurstOutputBytesMax = 64ull << 20;

class Burst {
 public:
  // Null where there is no room for slots, in memory or in the tables. From here on the submission is called in bursts
  // only.
  static Step<std::unique_ptr<Burst>> open(Device& device, SubmissionSide& submission, ReferenceSide& reference,
                                           const Plan& plan);

  struct Timed {
    std::int64_t interval_ns = 0;
    std::int64_t occupancy_gap_ns = 0;
    bool is_early = false;  // as in SubmissionSide::Called
  };
  // One burst on inputs of its own; every output checked.
  Step<Timed> run(const Plan& plan, const Draw& draw, std::uint32_t number, std::int64_t call_limit_ms);

 private:
  struct PreparedCall {  // of one call
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
  std::unique_ptr<Memory> poison_;  // an outputs' region that nothing was written to
  std::uint32_t slots_ = 0;
};

// A call's share, from undisturbed bursts and the intervals of single calls; 0 where there are too few of either.
double burst_call_time_ns(std::span<const std::int64_t> bursts_ns, std::span<const std::int64_t> singles_ns);

}  // namespace kq::judge
