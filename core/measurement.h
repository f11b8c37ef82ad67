// The figures of a passed job. All times are in nanoseconds. The raw samples are in Samples (core/result.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kq {

struct Statistics {
  std::uint32_t sample_count = 0;
  double median_ns = 0;
  double mean_ns = 0;
  double std_ns = 0;  // the sample standard deviation; 0 for fewer than two samples
  double min_ns = 0;
  double max_ns = 0;
  double p95_ns = 0;  // by nearest rank; 0 for fewer than kP95SamplesMin samples
  double p99_ns = 0;  // by nearest rank; 0 for fewer than kP99SamplesMin samples

  friend bool operator==(const Statistics&, const Statistics&) = default;
};

inline constexpr std::string_view kSelfReported = "self_reported";

// With fewer samples the nearest rank of the percentile is the maximum, which says nothing about the percentile.
inline constexpr std::size_t kP95SamplesMin = 20;
inline constexpr std::size_t kP99SamplesMin = 100;

// The noise of a time is this many standard errors of its median, and at least this share of the time: processes that
// run the same code differ by that much.
inline constexpr double kNoiseErrors = 3;
inline constexpr double kNoiseShareMin = 0.01;

// Returns the statistics of raw samples; all are 0 where there are no samples.
Statistics summarise(std::span<const std::int64_t> samples_ns);

// Returns the standard error of the median of samples, by their median absolute deviation, so that a few very long
// calls do not count. Returns 0 for fewer than two samples.
double median_error_ns(std::span<const std::int64_t> samples_ns);

// Returns the noise of a time: two times differ where they are farther apart than the root of their noises' squares.
// Returns infinity where there are fewer than two samples, because then nothing tells the noise.
double noise_of(std::span<const std::int64_t> samples_ns, double median_ns);

// The times of a job and of its reference, as gpu_worker/judge/timing/published_time.h computes them.
struct Measurement {
  // The name of the method of measuring. For the judge's own clock a sample is the interval from its start signal
  // to the end that it observes, minus `overhead_ns`. The times of an eval program are kSelfReported: the
  // submission could have forged them.
  std::string method;
  Statistics submission;   // of the samples that the judge measured; the median is the published time
  Statistics reference;    // the same for the problem's own Model on the same inputs, whose median has another filter
  double overhead_ns = 0;  // the time of a calibrated empty call, which is subtracted from every sample
  double drift_ns = 0;     // the change of a trusted child's empty call from the first trial to the last
  double attested_ns = 0;  // the median of the submission's samples that the judge measured
  double event_ns = 0;     // the median of the times that the child measured itself, which are only a hint; 0: none
  double burst_ns = 0;     // the time per call where the judge measured several calls in one interval; 0: it did not
  double noise_ns = 0;     // the noise of the submission's published time; 0: unknown
  double reference_noise_ns = 0;  // the same for the reference
  // The mean number of tasks beside the judge that ran or were ready to run just before a timed call; 0: unknown.
  double busy_tasks = 0;
  bool is_noisy = false;  // so many that none of the lane's processors was free for the call

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// Returns the reference's median divided by the submission's median, or 0 where either is not positive.
double speedup(const Measurement& measurement);

// Return the noise of a measured time. Where the judge did not report the noise, it follows from the standard deviation
// of the samples. Infinity where there is only one sample.
double submission_noise_ns(const Measurement& measurement);
double reference_noise_ns(const Measurement& measurement);
// Returns the noise of the speedup, or infinity.
double speedup_noise(const Measurement& measurement);

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
  v("noise_ns", x.noise_ns);
  v("reference_noise_ns", x.reference_noise_ns);
  v("busy_tasks", x.busy_tasks);
  v("is_noisy", x.is_noisy);
}

}  // namespace kq
