// The figures of a passed job. All times are nanoseconds; every sample is kept beside them (core/records.h, Samples).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kq {

struct Statistics {
  std::uint32_t sample_count = 0;
  double median_ns = 0;
  double mean_ns = 0;
  double std_ns = 0;  // sample standard deviation; 0 below two samples
  double min_ns = 0;
  double max_ns = 0;
  double p95_ns = 0;  // nearest rank; 0 below kP95SamplesMin samples
  double p99_ns = 0;  // likewise, kP99SamplesMin

  friend bool operator==(const Statistics&, const Statistics&) = default;
};

// Fewer samples than these say nothing of such a percentile: the rank would be that of the maximum.
inline constexpr std::size_t kP95SamplesMin = 20;
inline constexpr std::size_t kP99SamplesMin = 100;

// Statistics of raw samples; all zero for none.
Statistics summarise(std::span<const std::int64_t> samples_ns);

// How a time comes about: gpu_worker/judge/timing/published_time.h.
struct Measurement {
  std::string method;      // "attested": the judge's go->probe interval minus `overhead_ns`
  Statistics submission;   // of the attested samples; its median is the published one
  Statistics reference;    // likewise of the problem's own Model on the same inputs; its median by a rule of its own
  double overhead_ns = 0;  // the calibrated null call that was subtracted from every sample
  double drift_ns = 0;     // how far a trusted child's null call moved from the first trial to the last
  double attested_ns = 0;  // median of the submission's attested samples
  double event_ns = 0;     // median of the times that the child took of itself, a hint only; 0: none
  double burst_ns = 0;     // a call's share of several in one interval, likewise attested; 0: none were made

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// How much faster than the reference; 0 when either median is 0.
double speedup(const Measurement& measurement);

template <class V>
void fields(V& v, Statistics& x) {
  v("samples_n", x.sample_count);
  v("median_ns", x.median_ns);
  v("mean_ns", x.mean_ns);
  v("std_ns", x.std_ns);
  v("min_ns", x.min_ns);
  v("max_ns", x.max_ns);
  v("p95_ns", x.p95_ns);
  v("p99_ns", x.p99_ns);
}
template <class V>
void fields(V& v, Measurement& x) {
  v("method", x.method);
  v("submission", x.submission);
  v("reference", x.reference);
  v("overhead_ns", x.overhead_ns);
  v("drift_ns", x.drift_ns);
  v("attested_ns", x.attested_ns);
  v("event_ns", x.event_ns);
  v("burst_ns", x.burst_ns);
}

}  // namespace kq
