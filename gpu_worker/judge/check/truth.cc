#include "gpu_worker/judge/check/truth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

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

// Rounding errors are in proportion to the numbers, and the largest of 10^8 normal numbers is 6 times their RMS.
constexpr double kRoundingErrorMax = 32;

// Slices have equally many elements on all sides, whatever the dtypes are. No element has more than 16 bytes.
constexpr std::size_t kSliceElements = kSliceBytes / 16;

std::size_t elements_of(const StoredNumbers& numbers) {
  return numbers.bytes.size() / channel::element_bytes(numbers.dtype);
}

std::size_t slice_count(const StoredNumbers& numbers) {
  return (elements_of(numbers) + kSliceElements - 1) / kSliceElements;
}

// Numbers are decoded in parts that a processor's cache holds.
constexpr std::size_t kPartElements = 4096;
static_assert(kSliceElements % kPartElements == 0);

// Calls `add` with the numbers of each part of one slice, a vector for each of `sides`.
template <std::size_t n, class Add>
void for_each_part(const std::array<StoredNumbers, n>& sides, std::size_t slice, const Add& add) {
  const std::size_t end = std::min((slice + 1) * kSliceElements, elements_of(sides[0]));
  for (std::size_t begin = slice * kSliceElements; begin < end; begin += kPartElements) {
    const std::size_t count = std::min(kPartElements, end - begin);
    std::array<std::vector<double>, n> numbers;
    for (std::size_t side = 0; side < n; ++side) {
      const std::size_t bytes = channel::element_bytes(sides[side].dtype);
      numbers[side] = numbers_of(sides[side].dtype, sides[side].bytes.subspan(begin * bytes, count * bytes));
    }
    add(numbers);
  }
}

// Most blocks have finite numbers only. Their sums are made without a branch for each element.
constexpr std::size_t kBlock = 1024;
constexpr std::size_t kLanes = 8;

struct BlockSums {
  double truth_squares = 0;
  ErrorSums submission;
  ErrorSums reference;
  bool is_within = true;   // of the tolerance
  bool is_finite = false;  // otherwise the sums mean nothing
};

double sum_of(const std::array<double, kLanes>& lanes) {
  return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

// The loop suits the vectoriser: fixed trip counts, and one accumulator for each lane.
BlockSums sum_block(const double* truth, const double* expected, const double* got, Tolerance tolerance) {
  using Lanes = std::array<double, kLanes>;
  Lanes truth_squares{}, submission_squares{}, reference_squares{}, submission_max{}, reference_max{};
  Lanes excess{};   // becomes 1 where an error is larger than the tolerance
  Lanes special{};  // becomes NaN where a number is not finite
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double t = truth[i + lane];
      const double error = got[i + lane] - t;
      const double reference_error = expected[i + lane] - t;
      const double size = std::abs(error);
      const double reference_size = std::abs(reference_error);
      truth_squares[lane] += t * t;
      submission_squares[lane] += error * error;
      reference_squares[lane] += reference_error * reference_error;
      submission_max[lane] = size > submission_max[lane] ? size : submission_max[lane];
      reference_max[lane] = reference_size > reference_max[lane] ? reference_size : reference_max[lane];
      excess[lane] = size <= tolerance.atol + tolerance.rtol * std::abs(t) ? excess[lane] : 1;
      special[lane] += (error - error) + (reference_error - reference_error) + (t - t);
    }
  }
  return {.truth_squares = sum_of(truth_squares),
          .submission = {sum_of(submission_squares), *std::ranges::max_element(submission_max)},
          .reference = {sum_of(reference_squares), *std::ranges::max_element(reference_max)},
          .is_within = sum_of(excess) == 0,
          .is_finite = sum_of(special) == 0};
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
  for (std::size_t begin = 0; begin < truth.size(); begin += kBlock) {
    const std::size_t count = std::min(kBlock, truth.size() - begin);
    if (count == kBlock) {
      const BlockSums sums = sum_block(&truth[begin], &expected[begin], &got[begin], tolerance_);
      if (sums.is_finite) {
        count_ += kBlock;
        truth_squares_ += sums.truth_squares;
        submission_.add(sums.submission);
        reference_.add(sums.reference);
        is_within_ = is_within_ && sums.is_within;
        continue;
      }
    }
    add_one_by_one(truth.subspan(begin, count), expected.subspan(begin, count), got.subspan(begin, count));
  }
}

void TruthComparison::add_one_by_one(std::span<const double> truth, std::span<const double> expected,
                                     std::span<const double> got) {
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
    for_each_part(std::array{truth, expected, got}, i,
                  [&](const auto& part) { slices[i].add(part[0], part[1], part[2]); });
  });
  for (const TruthComparison& slice : slices) append(slice);
}

void TruthComparison::add_measured(const TruthRecord& record) {
  TruthComparison measured(tolerance_);
  measured.count_ = record.count;
  measured.truth_squares_ = record.truth_squares;
  measured.submission_ = {record.submission_squares, record.submission_largest};
  measured.reference_ = {record.reference_squares, record.reference_largest};
  measured.is_within_ = record.beyond == 0;
  measured.is_form_right_ = record.wrong_form == 0;
  measured.is_truth_finite_ = record.special_truth == 0;
  append(measured);
}

void TruthComparison::add_rounded(const StoredNumbers& truth, const StoredNumbers& rounded) {
  KQ_CHECK(elements_of(truth) == elements_of(rounded));
  std::vector<TruthComparison> slices(slice_count(truth), TruthComparison(tolerance_));
  for_each_slice(slices.size(), [&](std::size_t i) {
    for_each_part(std::array{truth, rounded}, i, [&](const auto& part) { slices[i].add_rounded(part[0], part[1]); });
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
          .looks_like = precision_like(relative(rms(submission_)), relative(submission_.largest))};
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

void AllowanceComparison::add(const StoredNumbers& expected, const StoredNumbers& got) {
  KQ_CHECK(elements_of(expected) == elements_of(got));
  std::vector<AllowanceComparison> slices(slice_count(expected));
  for_each_slice(slices.size(), [&](std::size_t i) {
    for_each_part(std::array{expected, got}, i, [&](const auto& part) { slices[i].add(part[0], part[1]); });
  });
  for (const AllowanceComparison& slice : slices) append(slice);
}

void AllowanceComparison::append(const AllowanceComparison& others) {
  count_ += others.count_;
  expected_squares_ += others.expected_squares_;
  difference_.add(others.difference_);
  is_form_right_ = is_form_right_ && others.is_form_right_;
}

bool AllowanceComparison::is_right(const TruthAllowance& allowance) const {
  if (!is_form_right_ || allowance.trials == 0 || count_ == 0) return false;
  const double size = std::sqrt(expected_squares_ / static_cast<double>(count_));
  return std::sqrt(difference_.squares / static_cast<double>(count_)) <= allowance.rms * size &&
         difference_.largest <= allowance.max * size;
}

std::string precision_like(double relative_rms, double relative_largest) {
  if (relative_largest > kRoundingErrorMax * relative_rms) return {};
  const auto* const row = std::ranges::find_if(
      kPrecisions, [&](const PrecisionRow& one) { return one.begin <= relative_rms && relative_rms <= one.end; });
  return row == std::end(kPrecisions) ? std::string() : std::string(row->name);
}

}  // namespace kq::judge
