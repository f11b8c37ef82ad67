// From samples to the time that is published. All functions are pure.
//
// A sample is the judge's timed interval less the overhead of a null call (timed_interval.h, calibration.h). No child
// can make it smaller, but it carries the error of the calibration, 1 to 2 us on a GPU. The child's own clock (CUDA
// events) is finer, but a child can forge it. So
//
//   published = max(median of the child's times, early time of the samples - slack)
//   early     = lower quartile of the samples, or their median less kLate* where that is more
//   slack     = min(3 standard errors of the samples' median + drift of the overhead, cap)
//
// The lower quartile is used because load on the host makes an interval longer and never shorter: of 160 times of
// references measured against themselves, 19 were more than 5 % above their events by the median, and one by the
// quartile (H200). A submission that forges its events and is quick in a quarter of its calls only gains kLate* at
// most.
//
// A calibration error is the same in every sample of a process; with the median's own error it makes the standard
// error. For short calls the cap is less than three standard errors: of one honest job in thirty the published time is
// not the median of its own times. Where the events are below what the samples allow if the calibration is right, which
// happens for one honest job in ten, short calls are also timed several at once, in bursts (trial/burst.h). The time of
// a call in a burst does not have the calibration error. The child's times must not be below it, and the slack may then
// be as large as the calibration error:
//
//   published = max(median of the child's times, burst time less its error, early time - burst slack)
//
// The error of a burst time is 2.7 % (standard deviation of 20 jobs of one softmax on an H200, 13.1 to 14.5 us) where
// the error of the events is 0.5 %. A burst time above the median of the samples is ignored: such a host launches more
// slowly than the GPU works.
//
// A forger gains the slack at most. Samples that a submission scatters on purpose must not widen the slack without
// limit, so the standard error comes from the median absolute deviation, and the cap limits it to what a calibration
// can be off.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace kq::judge {

// The cap of the slack: the larger of the first two, but never more than kSlackMaxOfAll of the time.
inline constexpr double kSlackMaxNs = 2'000;
inline constexpr double kSlackMaxShare = 0.02;
inline constexpr double kSlackMaxOfAll = 0.25;
// The standard deviation of the calibration from process to process, of 22 jobs on an H200.
inline constexpr double kCalibrationErrorNs = 1'100;
// The slack where there is a burst time: the smaller of the two.
inline constexpr double kBurstSlackNs = 3'000;
inline constexpr double kBurstSlackShare = 0.25;
// By how much a burst time may be too large.
inline constexpr double kBurstErrorShare = 0.05;
// Of fewer samples the median is used in place of the quartile.
inline constexpr std::size_t kQuartileSamplesMin = 8;
// By how much a host may have made the median later: the smaller of the two.
inline constexpr double kLateMaxNs = 10'000;
inline constexpr double kLateMaxShare = 0.25;
// By how much the two clocks may differ: the larger of the two.
inline constexpr double kClockMismatchNs = 50'000;
inline constexpr double kClockMismatchShare = 0.25;

struct PublishedTime {
  double median_ns = 0;  // the published time
  double judge_ns = 0;   // the median of the samples, which is the judge-measured time
  double event_ns = 0;   // the median of the child's times; 0 where the child gave none
  double noise_ns = 0;   // the noise of the published time (noise_of in core/measurement.h)
  // Whether the child's times are below all that the judge's clock allows if its calibration is right.
  bool is_event_implausible = false;
  // A sentence where the child's clock and the clock of a judge that spins cannot both be right; otherwise empty.
  std::string clock_mismatch;
};

// `samples_ns` and `events_ns` belong to the same calls. Where a child's time is not positive, all of its times are
// ignored. `burst_ns` is the time of a call in bursts, or 0 where there were no bursts.
PublishedTime published_time(std::span<const std::int64_t> samples_ns, std::span<const std::int64_t> events_ns,
                             double drift_ns, double burst_ns = 0);

// Returns the published time of a reference: the median of its own times, except where the two clocks cannot both be
// right or where its own time is above the judge's by more than the calibration error. Then it is the judge-measured
// time, in the latter case plus that error. No submission gains by a reference that is too quick, and of as few samples
// as a reference has the judge-measured median of a time of 10 to 20 us is off by 10 to 60 % where the child's clock is
// off by 3 % (H200).
double reference_median_ns(std::span<const std::int64_t> samples_ns, std::span<const std::int64_t> events_ns);

// Returns the noise of a published time, from the clock that it comes from.
double published_noise_ns(std::span<const std::int64_t> samples_ns, std::span<const std::int64_t> events_ns,
                          double median_ns);

}  // namespace kq::judge
