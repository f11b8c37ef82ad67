#include "gpu_worker/judge/check/truth.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "gpu_worker/judge/check/compare.h"
#include "gpu_worker/judge/check/slices.h"

namespace kq::judge {
namespace {

// The relative RMS errors of kernels against float64, as measured on KernelBench's problems (H100), widened by two on
// either side: 3e-8 to 1e-6, 2e-4 to 4e-4, and 2e-3 to 4e-3. The ranges are inclusive at their begin.
struct PrecisionRow {
  double begin;
  double end;
  const char* name;
};
constexpr PrecisionRow kPrecisions[] = {
    {1.5e-8, 2e-6, "float32"},
    {1e-4, 8e-4, "TF32 or float16"},
    {1e-3, 8e-3, "bfloat16"},
};

// Slices have equally many elements on all sides, whatever the dtypes are. No element has more than 16 bytes.
constexpr std::size_t kSliceElements = kSliceBytes / 16;

std::size_t elements_of(const StoredNumbers& numbers) {
  return numbers.bytes.size() / channel::element_bytes(numbers.dtype);
}

std::size_t slice_count(const StoredNumbers& numbers) {
  return (elements_of(numbers) + kSliceElements - 1) / kSliceElements;
}

std::vector<double> numbers_in_slice(const StoredNumbers& numbers, std::size_t slice) {
  const std::size_t bytes = kSliceElements * channel::element_bytes(numbers.dtype);
  const std::size_t begin = slice * bytes;
  return numbers_of(numbers.dtype, numbers.bytes.subspan(begin, std::min(bytes, numbers.bytes.size() - begin)));
}

bool same_special(double expected, double got) {
  return (std::isnan(expected) && std::isnan(got)) || expected == got;
}

}  // namespace

void ErrorSums::add(double error) {
  squares += error * error;
  largest = std::max(largest, std::abs(error));
}

void ErrorSums::add(const ErrorSums& others) {
  squares += others.squares;
  largest = std::max(largest, others.largest);
}

void TruthComparison::add(std::span<const double> truth, std::span<const double> expected,
                          std::span<const double> got) {
  KQ_CHECK(truth.size() == expected.size() && truth.size() == got.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (!std::isfinite(expected[i]) || !std::isfinite(got[i])) {
      is_form_right_ = is_form_right_ && same_special(expected[i], got[i]);
    } else if (!std::isfinite(truth[i])) {
      is_truth_finite_ = false;
    } else {
      ++count_;
      truth_squares_ += truth[i] * truth[i];
      submission_.add(got[i] - truth[i]);
      reference_.add(expected[i] - truth[i]);
      is_within_ = is_within_ && std::abs(got[i] - truth[i]) <= tolerance_.atol + tolerance_.rtol * std::abs(truth[i]);
    }
  }
}

void TruthComparison::append(const TruthComparison& others) {
  count_ += others.count_;
  truth_squares_ += others.truth_squares_;
  submission_.add(others.submission_);
  reference_.add(others.reference_);
  rounding_.add(others.rounding_);
  is_within_ = is_within_ && others.is_within_;
  is_form_right_ = is_form_right_ && others.is_form_right_;
  is_truth_finite_ = is_truth_finite_ && others.is_truth_finite_;
}

void TruthComparison::add(const StoredNumbers& truth, const StoredNumbers& expected, const StoredNumbers& got) {
  KQ_CHECK(elements_of(truth) == elements_of(expected) && elements_of(truth) == elements_of(got));
  std::vector<TruthComparison> slices(slice_count(truth), TruthComparison(tolerance_));
  for_each_slice(slices.size(), [&](std::size_t i) {
    slices[i].add(numbers_in_slice(truth, i), numbers_in_slice(expected, i), numbers_in_slice(got, i));
  });
  for (const TruthComparison& slice : slices) append(slice);
}

void TruthComparison::add_rounded(const StoredNumbers& truth, const StoredNumbers& rounded) {
  KQ_CHECK(elements_of(truth) == elements_of(rounded));
  std::vector<TruthComparison> slices(slice_count(truth), TruthComparison(tolerance_));
  for_each_slice(slices.size(), [&](std::size_t i) {
    slices[i].add_rounded(numbers_in_slice(truth, i), numbers_in_slice(rounded, i));
  });
  for (const TruthComparison& slice : slices) append(slice);
}

void TruthComparison::add_rounded(std::span<const double> truth, std::span<const double> rounded) {
  KQ_CHECK(truth.size() == rounded.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (std::isfinite(truth[i]) && std::isfinite(rounded[i])) rounding_.add(rounded[i] - truth[i]);
  }
}

double TruthComparison::rms(const ErrorSums& sums) const {
  return count_ == 0 ? 0 : std::sqrt(sums.squares / static_cast<double>(count_));
}

double TruthComparison::relative(double error) const {
  const double size = count_ == 0 ? 0 : std::sqrt(truth_squares_ / static_cast<double>(count_));
  return size > 0 ? error / size : 0;
}

bool TruthComparison::is_conclusive() const {
  const bool is_near = truth_squares_ > 0 && relative(rms(reference_)) <= kReferenceErrorMax;
  return is_truth_finite_ && (is_within_ || is_near);
}

bool TruthComparison::is_right(const TruthRule& rule) const {
  if (!is_form_right_ || !is_conclusive()) return false;
  if (is_within_) return true;
  return rms(submission_) <= rule.rms * (rms(reference_) + rms(rounding_)) &&
         submission_.largest <= rule.max * (reference_.largest + rounding_.largest);
}

TruthErrors TruthComparison::errors() const {
  return {.kind = {},
          .submission_max = submission_.largest,
          .submission_rms = relative(rms(submission_)),
          .reference_max = reference_.largest,
          .reference_rms = relative(rms(reference_)),
          .rounding_max = rounding_.largest,
          .rounding_rms = relative(rms(rounding_)),
          .looks_like = precision_like(relative(rms(submission_)))};
}

void TruthComparison::widen(TruthAllowance& allowance, const TruthRule& rule) const {
  ++allowance.trials;
  const auto allowed = [this](double factor, double reference, double rounding) {
    return relative(reference + factor * (reference + rounding));
  };
  allowance.rms = std::max(allowance.rms, allowed(rule.rms, rms(reference_), rms(rounding_)));
  allowance.max = std::max(allowance.max, allowed(rule.max, reference_.largest, rounding_.largest));
}

void AllowanceComparison::add(std::span<const double> expected, std::span<const double> got) {
  KQ_CHECK(expected.size() == got.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(expected[i]) || !std::isfinite(got[i])) {
      is_form_right_ = is_form_right_ && same_special(expected[i], got[i]);
      continue;
    }
    ++count_;
    expected_squares_ += expected[i] * expected[i];
    difference_.add(got[i] - expected[i]);
  }
}

bool AllowanceComparison::is_right(const TruthAllowance& allowance) const {
  if (!is_form_right_ || allowance.trials == 0 || count_ == 0) return false;
  const double size = std::sqrt(expected_squares_ / static_cast<double>(count_));
  return std::sqrt(difference_.squares / static_cast<double>(count_)) <= allowance.rms * size &&
         difference_.largest <= allowance.max * size;
}

std::string precision_like(double relative_rms) {
  const auto* const row = std::ranges::find_if(
      kPrecisions, [&](const PrecisionRow& one) { return one.begin <= relative_rms && relative_rms <= one.end; });
  return row == std::end(kPrecisions) ? std::string() : std::string(row->name);
}

}  // namespace kq::judge
