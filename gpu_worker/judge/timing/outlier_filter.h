// The outlier filter: it drops timed calls that a concurrent warm-up (concurrent_warm_ups.h) has lengthened.
//
// Theory of operation. A child that creates its CUDA context stops the GPU for moments. Of the calls at the same time
// most take as long as ever, and some take 30 to 250 us longer (H200). In a short job these may be the majority and lie
// close together, so the usual time is taken from the quick calls and not from the median. A call during which no
// warm-up ran is never dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kq::judge {

// The measurements of timed calls: element i of each vector belongs to call i.
struct CallTimes {
  std::vector<std::int64_t> intervals_ns;
  std::vector<std::int64_t> events_ns;  // by the child's own clock
  std::vector<bool> during_warm_up;     // whether a warm-up ran at the same time
  std::vector<double> slowness;         // of the device's memory just before the call (device/memory_speed.h)

  std::size_t size() const { return intervals_ns.size(); }
  void add(std::int64_t interval_ns, std::int64_t event_ns, bool is_during_warm_up, double memory_slowness = 1);
};

// A call is an outlier where its interval differs from the usual one by more than both of these. Without warm-ups one
// call in two hundred does (H200), and dropping it moves no median.
inline constexpr std::int64_t kOutlierNs = 30'000;
inline constexpr double kOutlierShare = 0.1;

// Returns a submission's calls without outliers. The usual interval is the lower quartile, because more than half of
// the calls may be outliers. A kernel that is quick on purpose in a quarter of its calls gains nothing where the others
// are repeated.
CallTimes without_outliers(const CallTimes& times);
// Returns a reference's calls without outliers. They are few and follow one another, so the usual interval is the
// shortest one. No submission gains by a reference that is too quick.
CallTimes reference_without_outliers(const CallTimes& times);

// Returns whether the device's memory was slow (kSlowMemoryRatio) in at least this share of the calls. For a submission
// the share is three quarters, because its published time comes from the quicker calls; for a reference it is a half.
bool had_slow_memory(const CallTimes& times, double share);
inline constexpr double kSlowShare = 0.75;
inline constexpr double kSlowReferenceShare = 0.5;

}  // namespace kq::judge
