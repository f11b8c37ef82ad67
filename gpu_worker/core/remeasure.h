// Whether the time of an attempt that passed is believed at once.
//
// The judge's clock has an error that is the same for all calls of a process: 1.1 us (standard deviation, H200), and
// now and then 3 to 5. Where it says more than the child's events, more is published: of 162 jobs of 6 to 130 us four
// were 1 to 4 % above. In another process the error is another one. So a job like that is judged once more, and its
// second time counts, whatever it is: one that forges its events is in doubt again, and gains nothing by the choice.
// Where its limit leaves no time for that the first time counts: it is the larger of the two. Where the two clocks
// cannot both be right (judge/attested.h) it is judged once more too, and the second time rejected.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.h"
#include "core/plan.h"

namespace kq::worker {

inline constexpr double kDoubtfulShare = 0.01;         // published above the child's own time by more than this
inline constexpr double kDoubtfulBelowNs = 1'000'000;  // what takes longer knows no such error
inline constexpr double kWaitedShareMax =
    0.01;  // of the trials. Half of the samples are 50 us off where clocks disagree, that is 2 % of a trial and more
inline constexpr std::uint64_t kJobsPerDoubt =
    8;  // of a lane; on a noisy host more would be in doubt, and are believed

// Of a GPU's lane.
class Doubts {
 public:
  // Of the first attempt of each job. Counts.
  bool wants_another(const Report& report);

 private:
  std::uint64_t jobs_ = 0;
  std::uint64_t again_ = 0;
};

enum class Looks { one, two };

// What becomes of an attempt whose clocks disagree as the first one's did: it is rejected, or it is our error, where
// the judge itself had to wait for a processor: then honest clocks disagree, too. Where the job's limit left time for
// one look alone it is our error as well: a machine may be disturbed once, and a forged clock must not pass for want of
// time. Fewer than kTimedSamplesMin samples may be disturbed twice, and nothing is gained by them: what is published is
// no less than the judge's clock allows.
Expected<void> reject_forged_clock(Report& report, const Trials& trials, Looks looks);

// A GPU that was not quiet before calls tells nothing of the submission where somebody else uses it: that is our error.
// What a submission starts is among our own processes and excuses nothing, and an excuse gains nothing: there is no
// verdict.
Expected<void> blame_foreigners(const Verdict& verdict, const std::optional<Conditions>& conditions);

}  // namespace kq::worker
