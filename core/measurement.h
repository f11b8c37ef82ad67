// The figures of a passed job. All times are nanoseconds; every sample is kept beside them (core/records.h, Samples).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace kq {

struct Statistics {
  std::uint32_t samples_n = 0;
  double median_ns = 0;
  double mean_ns = 0;
  double std_ns = 0;  // sample standard deviation; 0 below two samples
  double min_ns = 0;
  double max_ns = 0;

  friend bool operator==(const Statistics&, const Statistics&) = default;
};

// Statistics of raw samples; all zero for none.
Statistics summarise(std::span<const std::int64_t> samples_ns);

struct Measurement {
  std::string method;        // "bracket": the judge's go->probe interval minus `overhead_ns`
  Statistics submission;
  Statistics reference;      // the problem's own Model, same inputs, same clock
  double overhead_ns = 0;    // the calibrated null call that was subtracted from every sample

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// How much faster than the reference; 0 when either median is 0.
double speedup(const Measurement& measurement);

template <class V> void fields(V& v, Statistics& x) {
  v("samples_n", x.samples_n); v("median_ns", x.median_ns); v("mean_ns", x.mean_ns);
  v("std_ns", x.std_ns); v("min_ns", x.min_ns); v("max_ns", x.max_ns);
}
template <class V> void fields(V& v, Measurement& x) {
  v("method", x.method); v("submission", x.submission); v("reference", x.reference); v("overhead_ns", x.overhead_ns);
}

}  // namespace kq
