// Timed calls, and which of them a child of ours has disturbed that was making itself warm meanwhile
// (concurrent_warm_ups.h).
//
// Theory of operation. Whoever makes a context stops the device now and then: a call beside him takes as long as ever
// or, in some, 30 to 250 us longer (H200). In a short job most of the calls may be such ones, and lie close together;
// so what is usual is told by the quick ones, not by the median. What is not disturbed is never left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kq::judge {

struct CallTimes {
  std::vector<std::int64_t> intervals_ns;
  std::vector<std::int64_t> events_ns;  // what the child said of the same calls
  std::vector<bool> during_warm_up;     // whether a child of ours was making itself warm meanwhile
  std::vector<double> slowness;         // of the memory just before (memory_speed.h)

  std::size_t size() const { return intervals_ns.size(); }
  void add(std::int64_t interval_ns, std::int64_t event_ns, bool is_during_warm_up, double memory_slowness = 1);
};

// So far from what is usual, by either, is disturbed. In the quiet one call in two hundred is (H200), and to drop that
// moves no median.
inline constexpr std::int64_t kOutlierNs = 30'000;
inline constexpr double kOutlierShare = 0.1;

// Of a submission's calls: what a quarter of them are no longer than. A kernel that is quick in a quarter of its calls
// gains nothing where all are made again because half of them were far away.
CallTimes without_outliers(const CallTimes& times);
// Of a reference's, which are few and follow one another: the least. Nobody gains by a reference that is too quick.
CallTimes reference_without_outliers(const CallTimes& times);

// Whether the memory was slow (kSlowMemory) in so many of them that this is what they tell of: in three of four of a
// submission's, of which the quicker ones are published, and in half of a reference's.
bool had_slow_memory(const CallTimes& times, double share);
inline constexpr double kSlowShare = 0.75;
inline constexpr double kSlowReferenceShare = 0.5;

}  // namespace kq::judge
