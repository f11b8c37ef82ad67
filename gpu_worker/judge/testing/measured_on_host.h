// For tests: the records of a measuring device, computed one element after another from host memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "gpu_worker/judge/check/compare.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

inline std::span<const std::byte> bytes_of(const Memory& memory, std::uint64_t offset, std::uint64_t bytes) {
  return {reinterpret_cast<const std::byte*>(memory.address()) + offset, bytes};
}

// Returns whether the elements are one floating-point number each.
inline bool is_real(const DeviceComparison& comparison) {
  return comparison.dtype && is_floating(*comparison.dtype) && !is_complex(*comparison.dtype);
}

// The numbers of both sides.
struct Sides {
  std::vector<double> expected;
  std::vector<double> got;
  explicit Sides(const DeviceComparison& of)
      : expected(numbers_of(*of.dtype, bytes_of(*of.expected, of.expected_offset, of.bytes))),
        got(numbers_of(*of.dtype, bytes_of(*of.got, of.got_offset, of.bytes))) {}
};

inline bool is_same_special(double expected, double got) {
  return (std::isnan(expected) && std::isnan(got)) || expected == got;
}

// Adds one element to a record of the elements before it.
inline void note(ErrorRecord& record, std::uint64_t element, double expected, double got, Tolerance tolerance) {
  const bool is_finite = std::isfinite(expected) && std::isfinite(got);
  const double error = std::abs(got - expected);
  const double allowed = tolerance.atol + tolerance.rtol * std::abs(expected);
  if (is_finite) record.max_abs_err = std::max(record.max_abs_err, error);
  if (is_finite && expected != 0) record.max_rel_err = std::max(record.max_rel_err, error / std::abs(expected));
  if (is_finite ? error <= allowed : is_same_special(expected, got)) return;
  const double excess = std::isfinite(error) ? error / std::max(allowed, std::numeric_limits<double>::min())
                                             : std::numeric_limits<double>::infinity();
  if (record.wrong++ == 0) record.first = element;
  record.last = element;
  record.not_finite += std::isfinite(expected) && !std::isfinite(got) ? 1 : 0;
  if (excess <= record.worst_excess) return;
  record.worst_excess = excess;
  record.worst = element;
}

inline void note(TruthRecord& record, double truth, double expected, double got, Tolerance tolerance) {
  if (!std::isfinite(expected) || !std::isfinite(got)) {
    record.wrong_form += is_same_special(expected, got) ? 0 : 1;
  } else if (!std::isfinite(truth)) {
    ++record.special_truth;
  } else {
    ++record.count;
    record.truth_squares += truth * truth;
    record.submission_squares += (got - truth) * (got - truth);
    record.reference_squares += (expected - truth) * (expected - truth);
    record.submission_largest = std::max(record.submission_largest, std::abs(got - truth));
    record.reference_largest = std::max(record.reference_largest, std::abs(expected - truth));
    record.beyond += std::abs(got - truth) <= tolerance.atol + tolerance.rtol * std::abs(truth) ? 0 : 1;
  }
}

inline ErrorRecord measured_on_host(const DeviceComparison& comparison) {
  const Sides sides(comparison);
  ErrorRecord record;
  for (std::size_t i = 0; i < sides.got.size(); ++i)
    note(record, i, sides.expected[i], sides.got[i], comparison.tolerance);
  return record;
}

inline TruthRecord measured_on_host(const DeviceTruth& truth, const DeviceComparison& comparison) {
  const Sides sides(comparison);
  const std::uint64_t bytes = sides.got.size() * channel::element_bytes(truth.dtype);
  const std::vector<double> exact = numbers_of(truth.dtype, bytes_of(*truth.memory, truth.offset, bytes));
  TruthRecord record;
  for (std::size_t i = 0; i < sides.got.size(); ++i)
    note(record, exact[i], sides.expected[i], sides.got[i], comparison.tolerance);
  return record;
}

}  // namespace kq::judge
