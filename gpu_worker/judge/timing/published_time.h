// From samples to the time that is published. Pure.
//
// An attested sample is the judge's bracket less the overhead of a null call (bracket.h): no child can make it smaller,
// but it carries the error of that calibration, 1 to 2 us on a GPU. The child's own clock (CUDA events) is finer and
// worth nothing by itself. So
//
//   published = max(median of the child's times, early time of the attested samples - slack)
//   early     = their lower quartile, or their median less kLate where that is more
//   slack     = min(3 standard errors of their median + drift of the overhead, cap)
//
// All that disturbs a host makes an interval longer, and none shorter: of 160 times of references against themselves 19
// were more than 5 % above their events by the median, by the quartile one (H200). Who forges his events and has
// something to gain by a quarter of quick calls beside slow ones gains kLate and no more.
//
// An error of the calibration is the same for every sample of a process: with the median's own, it makes the standard
// error. The cap is less than three of them for short calls: of an honest job in thirty what is published is not its
// own times' median. Where it would not be, were the calibration right, which is so for one honest job in ten, short
// calls are also timed several at once (burst.h): a liar would choose his times within the slack. Their share, which is
// free of that error, is what the child's times must not be below, and the slack may be as large as that error:
//
//   published = max(median of the child's times, share less its error, early time - burst slack)
//
// The share's own error is 2.7 % (standard deviation of 20 jobs of one softmax on an H200, 13.1 to 14.5 us) where the
// events' is 0.5 %. A share above the attested median is that of a host which launches more slowly than the GPU works,
// and says nothing.
//
// What a liar gains is the slack at most. It would grow with samples that the submission scatters on purpose, so the
// median's standard error is by the median absolute deviation, and the cap holds it to what calibration can be off.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace kq::judge {

inline constexpr double kSlackMaxNs = 2'000;  // or kSlackMaxShare of the time, where that is more
inline constexpr double kSlackMaxShare = 0.02;
inline constexpr double kSlackMaxOfAll = 0.25;  // and never more than this share
inline constexpr double kCalibrationErrorNs =
    1'100;  // standard deviation from process to process, of 22 jobs on an H200
inline constexpr double kBurstSlackNs =
    3'000;  // where a share stands beside it, and at most kBurstSlackShare of the time
inline constexpr double kBurstSlackShare = 0.25;
inline constexpr double kBurstErrorShare = 0.05;       // of the share, what it may be too large by
inline constexpr std::size_t kQuartileSamplesMin = 8;  // of fewer the median stands for it
inline constexpr double kLateMaxNs = 10'000;           // of the median, what a host may have made it later by,
inline constexpr double kLateMaxShare = 0.25;          // and no more than this share
inline constexpr double kClockMismatchNs = 50'000;     // the two clocks may differ by this much,
inline constexpr double kClockMismatchShare = 0.25;    // or by this share of the attested time, where that is more

struct PublishedTime {
  double median_ns = 0;  // the published one
  double judge_ns = 0;
  double event_ns = 0;  // 0: the child gave no times
  bool is_event_implausible =
      false;  // the child's times are below all that the judge's clock can agree with, if its calibration is right
  std::string clock_mismatch;  // in words, where the child's clock and that of a judge that spins cannot both be right;
                               // else empty
};

// `samples_ns` and `events_ns` are of the same calls. Times of a child that are not positive count as none.
// `burst_ns` is a call's share of a burst; 0: there were none.
PublishedTime published_time(std::span<const std::int64_t> samples_ns, std::span<const std::int64_t> events_ns,
                             double drift_ns, double burst_ns = 0);

// What is published of a reference: the median of its own times, unless the two clocks cannot both be right or its own
// is above the judge's by more than the calibration's error; then the attested one, and that error. Nobody gains by a
// reference that is too quick, and of so few samples as it has the attested median is off by 10 to 60 % for 10 to 20 us
// where its own clock is by 3 (H200).
double reference_median_ns(std::span<const std::int64_t> samples_ns, std::span<const std::int64_t> events_ns);

}  // namespace kq::judge
