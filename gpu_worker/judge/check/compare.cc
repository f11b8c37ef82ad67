#include "gpu_worker/judge/check/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "core/base/check.h"
#include "gpu_worker/judge/check/number_formats.h"
#include "gpu_worker/judge/check/slices.h"

namespace kq::judge {
namespace {

using channel::Dtype;

struct ToleranceRow {
  Dtype dtype;
  double rtol;
  double atol;
  constexpr ToleranceRow(Dtype of, double both) : dtype(of), rtol(both), atol(both) {}
  constexpr ToleranceRow(Dtype of, double relative, double absolute) : dtype(of), rtol(relative), atol(absolute) {}
};
constexpr ToleranceRow kTolerances[] = {
    {Dtype::none, 0},
    {Dtype::float64, 1e-7},
    {Dtype::float32, 1e-4},
    {Dtype::float16, 1e-2},
    {Dtype::bfloat16, 1e-2},
    {Dtype::int64, 0},
    {Dtype::int32, 0},
    {Dtype::int16, 0},
    {Dtype::int8, 0},
    {Dtype::uint8, 0},
    {Dtype::boolean, 0},
    {Dtype::complex64, 1e-4},
    {Dtype::complex128, 1e-7},
    {Dtype::float8_e4m3fn, 0x1p-3, 0x1p-9},
    {Dtype::float8_e5m2, 0x1p-2, 0x1p-16},
    {Dtype::float8_e4m3fnuz, 0x1p-3, 0x1p-10},
    {Dtype::float8_e5m2fnuz, 0x1p-2, 0x1p-17},
    {Dtype::float8_e8m0fnu, 1, 0},
    {Dtype::uint16, 0},
    {Dtype::uint32, 0},
    {Dtype::uint64, 0},
    {Dtype::complex32, 1e-2},
};

// Elements are compared in blocks. Where a block may have a wrong element, its errors are measured in doubles, and one
// by one only where a number is not finite.
constexpr std::size_t kBlock = 1024;
constexpr std::size_t kLanes = 16;

struct Worst {
  double abs_err = 0;
  double rel_err = 0;
};

// Returns the worst errors of a block in which every element is finite and right. Returns nothing where one may not be.
// The loop suits the vectoriser: fixed trip counts, one accumulator for each lane, no branch.
template <class Value>
std::optional<Worst> compare_block(const Value* expected, const Value* got, Tolerance tolerance) {
  const Value rtol = static_cast<Value>(tolerance.rtol);
  const Value atol = static_cast<Value>(tolerance.atol);
  constexpr Value kHuge = std::numeric_limits<Value>::infinity();
  std::array<Value, kLanes> abs_err{};
  std::array<Value, kLanes> rel_err{};
  std::array<Value, kLanes> excess{};  // becomes 1 where an element is wrong, NaN or infinite
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Value e = expected[i + lane];
      const Value size = std::abs(e);
      const Value error = std::abs(got[i + lane] - e);
      const Value relative = error / (size > 0 ? size : kHuge);
      excess[lane] = error <= atol + rtol * size ? excess[lane] : Value{1};
      excess[lane] = size < kHuge ? excess[lane] : Value{1};
      abs_err[lane] = error > abs_err[lane] ? error : abs_err[lane];
      rel_err[lane] = relative > rel_err[lane] ? relative : rel_err[lane];
    }
  }
  if (std::ranges::any_of(excess, [](Value value) { return value != 0; })) return std::nullopt;
  return Worst{*std::ranges::max_element(abs_err), *std::ranges::max_element(rel_err)};
}

template <class Format>
void decode_block(const typename Format::Stored* stored, std::array<typename Format::Value, kBlock>& values) {
  for (std::size_t i = 0; i < kBlock; ++i) values[i] = Format::value(stored[i]);
}

template <class Format>
std::optional<Worst> compare_stored(const typename Format::Stored* expected, const typename Format::Stored* got,
                                    Tolerance tolerance) {
  if constexpr (std::is_same_v<typename Format::Stored, typename Format::Value>) {
    return compare_block(expected, got, tolerance);
  } else {
    std::array<typename Format::Value, kBlock> expected_values;
    std::array<typename Format::Value, kBlock> got_values;
    decode_block<Format>(expected, expected_values);
    decode_block<Format>(got, got_values);
    return compare_block(expected_values.data(), got_values.data(), tolerance);
  }
}

// What a block of finite numbers has shown.
struct BlockErrors {
  std::uint64_t wrong = 0;
  double excess = 0;  // largest; it is above 1 exactly where an element is wrong
  Worst worst;
  bool is_finite = false;  // otherwise the other members mean nothing
};

double excess_at(double error, double allowed) {
  return error / std::max(allowed, std::numeric_limits<double>::min());
}

// The loop suits the vectoriser, as that of compare_block() does.
BlockErrors measure_block(const double* expected, const double* got, Tolerance tolerance) {
  using Lanes = std::array<double, kLanes>;
  constexpr double kHuge = std::numeric_limits<double>::infinity();
  Lanes wrong{}, excess{}, abs_err{}, rel_err{};
  Lanes special{};  // becomes NaN where a number is not finite
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double e = expected[i + lane];
      const double g = got[i + lane];
      const double size = std::abs(e);
      const double error = std::abs(g - e);
      const double allowed = tolerance.atol + tolerance.rtol * size;
      const double over = excess_at(error, allowed);
      const double relative = error / (size > 0 ? size : kHuge);
      wrong[lane] += error <= allowed ? 0.0 : 1.0;
      excess[lane] = over > excess[lane] ? over : excess[lane];
      abs_err[lane] = error > abs_err[lane] ? error : abs_err[lane];
      rel_err[lane] = relative > rel_err[lane] ? relative : rel_err[lane];
      special[lane] += (e - e) + (g - g);
    }
  }
  const auto sum = [](const Lanes& lanes) { return std::accumulate(lanes.begin(), lanes.end(), 0.0); };
  return {.wrong = static_cast<std::uint64_t>(sum(wrong)),
          .excess = *std::ranges::max_element(excess),
          .worst = {*std::ranges::max_element(abs_err), *std::ranges::max_element(rel_err)},
          .is_finite = sum(special) == 0 && std::ranges::max(abs_err) < kHuge};
}

bool close(double expected, double got, Tolerance tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return expected == got;
  return std::abs(got - expected) <= tolerance.atol + tolerance.rtol * std::abs(expected);  // false for NaN
}

// Returns the error of an element as a multiple of what is allowed there.
double excess_of(double expected, double got, Tolerance tolerance) {
  const double error = std::abs(got - expected);
  if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
  return excess_at(error, tolerance.atol + tolerance.rtol * std::abs(expected));
}

template <class Format>
std::array<double, kBlock> doubles(const typename Format::Stored* stored) {
  std::array<double, kBlock> values;
  for (std::size_t i = 0; i < kBlock; ++i) values[i] = static_cast<double>(Format::value(stored[i]));
  return values;
}

template <class T>
const T* elements(std::span<const std::byte> bytes) {
  KQ_CHECK(bytes.size() % sizeof(T) == 0 && reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0);
  return reinterpret_cast<const T*>(bytes.data());
}

template <class Format>
std::vector<double> decoded(std::span<const std::byte> bytes) {
  const auto* const stored = elements<typename Format::Stored>(bytes);
  std::vector<double> numbers(bytes.size() / sizeof(typename Format::Stored));
  std::transform(stored, stored + numbers.size(), numbers.begin(),
                 [](auto one) { return static_cast<double>(Format::value(one)); });
  return numbers;
}

template <class Integer>
std::vector<double> counted(std::span<const std::byte> bytes) {
  const Integer* const stored = elements<Integer>(bytes);
  return {stored, stored + bytes.size() / sizeof(Integer)};
}

std::vector<double> real_parts(const std::vector<double>& parts) {
  std::vector<double> numbers(parts.size() / 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = parts[2 * i];
  return numbers;
}

bool same_bytes(const void* a, const void* b, std::size_t n) {
  return std::memcmp(a, b, n) == 0;
}

}  // namespace

Tolerance tolerance_for(Dtype dtype, std::optional<double> rtol, std::optional<double> atol,
                        const std::optional<ProblemTolerance>& of_problem) {
  const auto* row = std::ranges::find(kTolerances, dtype, &ToleranceRow::dtype);
  KQ_CHECK(row != std::end(kTolerances));
  const ProblemTolerance named = of_problem.value_or(ProblemTolerance());
  return {.rtol = rtol.value_or(named.rtol.value_or(row->rtol)),
          .atol = atol.value_or(named.atol.value_or(row->atol)),
          .matched = named.matched};
}

std::vector<double> numbers_of(Dtype dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case Dtype::float64:
    case Dtype::complex128:
      return decoded<Double>(bytes);
    case Dtype::float32:
    case Dtype::complex64:
      return decoded<Single>(bytes);
    case Dtype::float16:
      return decoded<Half>(bytes);
    case Dtype::bfloat16:
      return decoded<Brain>(bytes);
    case Dtype::complex32:
      return decoded<ComplexHalf>(bytes);
    case Dtype::float8_e4m3fn:
      return decoded<E4m3fn>(bytes);
    case Dtype::float8_e5m2:
      return decoded<E5m2>(bytes);
    case Dtype::float8_e4m3fnuz:
      return decoded<E4m3fnuz>(bytes);
    case Dtype::float8_e5m2fnuz:
      return decoded<E5m2fnuz>(bytes);
    case Dtype::float8_e8m0fnu:
      return decoded<E8m0>(bytes);
    case Dtype::none:
    case Dtype::int64:
    case Dtype::int32:
    case Dtype::int16:
    case Dtype::int8:
    case Dtype::uint8:
    case Dtype::uint16:
    case Dtype::uint32:
    case Dtype::uint64:
    case Dtype::boolean:
      return {};
  }
  return {};
}

std::vector<double> values_of(Dtype dtype, std::span<const std::byte> bytes) {
  if (is_complex(dtype)) return real_parts(numbers_of(dtype, bytes));
  if (is_floating(dtype)) return numbers_of(dtype, bytes);
  switch (dtype) {
    case Dtype::int64:
      return counted<std::int64_t>(bytes);
    case Dtype::int32:
      return counted<std::int32_t>(bytes);
    case Dtype::int16:
      return counted<std::int16_t>(bytes);
    case Dtype::int8:
      return counted<std::int8_t>(bytes);
    case Dtype::uint8:
    case Dtype::boolean:
      return counted<std::uint8_t>(bytes);
    case Dtype::uint16:
      return counted<std::uint16_t>(bytes);
    case Dtype::uint32:
      return counted<std::uint32_t>(bytes);
    case Dtype::uint64:
      return counted<std::uint64_t>(bytes);
    default:  // no dtype
      return {};
  }
}

void Comparison::add(std::span<const std::byte> expected, std::span<const std::byte> got) {
  KQ_CHECK(expected.size() == got.size());
  std::vector<Comparison> slices((expected.size() + kSliceBytes - 1) / kSliceBytes, Comparison(dtype_, tolerance_));
  for_each_slice(slices.size(), [&](std::size_t i) {
    const std::size_t begin = i * kSliceBytes;
    const std::size_t bytes = std::min(kSliceBytes, expected.size() - begin);
    slices[i].add_slice(expected.subspan(begin, bytes), got.subspan(begin, bytes));
  });
  for (const Comparison& slice : slices) append(slice);
}

void Comparison::append(const Comparison& next) {
  if (next.mismatched_ > 0) {
    if (mismatched_ == 0) {
      first_ = total_ + next.first_;
      first_expected_ = next.first_expected_;
      first_got_ = next.first_got_;
    }
    last_ = total_ + next.last_;
    if (next.worst_excess_ > worst_excess_) {
      worst_excess_ = next.worst_excess_;
      worst_ = total_ + next.worst_;
      worst_expected_ = next.worst_expected_;
      worst_got_ = next.worst_got_;
    }
  }
  total_ += next.total_;
  mismatched_ += next.mismatched_;
  not_finite_ += next.not_finite_;
  max_abs_err_ = std::max(max_abs_err_, next.max_abs_err_);
  max_rel_err_ = std::max(max_rel_err_, next.max_rel_err_);
}

void Comparison::add_slice(std::span<const std::byte> expected, std::span<const std::byte> got) {
  switch (dtype_) {
    case Dtype::none:
      return;
    case Dtype::float64:
      return add_floats<Double>(expected, got);
    case Dtype::float32:
      return add_floats<Single>(expected, got);
    case Dtype::float16:
      return add_floats<Half>(expected, got);
    case Dtype::bfloat16:
      return add_floats<Brain>(expected, got);
    case Dtype::int64:
      return add_integers<std::int64_t>(expected, got);
    case Dtype::int32:
      return add_integers<std::int32_t>(expected, got);
    case Dtype::int16:
      return add_integers<std::int16_t>(expected, got);
    case Dtype::int8:
      return add_integers<std::int8_t>(expected, got);
    case Dtype::uint8:
      return add_integers<std::uint8_t>(expected, got);
    case Dtype::boolean:
      return add_booleans(expected, got);
    case Dtype::complex64:
      return add_floats<ComplexSingle>(expected, got);
    case Dtype::complex128:
      return add_floats<ComplexDouble>(expected, got);
    case Dtype::complex32:
      return add_floats<ComplexHalf>(expected, got);
    case Dtype::float8_e4m3fn:
      return add_floats<E4m3fn>(expected, got);
    case Dtype::float8_e5m2:
      return add_floats<E5m2>(expected, got);
    case Dtype::float8_e4m3fnuz:
      return add_floats<E4m3fnuz>(expected, got);
    case Dtype::float8_e5m2fnuz:
      return add_floats<E5m2fnuz>(expected, got);
    case Dtype::float8_e8m0fnu:
      return add_floats<E8m0>(expected, got);
    case Dtype::uint16:
      return add_integers<std::uint16_t>(expected, got);
    case Dtype::uint32:
      return add_integers<std::uint32_t>(expected, got);
    case Dtype::uint64:
      return add_integers<std::uint64_t>(expected, got);
  }
}

void Comparison::add_agreed(std::uint64_t elements, double max_abs_err, double max_rel_err) {
  total_ += elements;
  max_abs_err_ = std::max(max_abs_err_, max_abs_err);
  max_rel_err_ = std::max(max_rel_err_, max_rel_err);
}

void Comparison::add_measured(std::uint64_t elements, const ErrorRecord& record, NumberPair first, NumberPair worst) {
  Comparison measured(dtype_, tolerance_);
  measured.total_ = elements;
  measured.mismatched_ = record.wrong;
  measured.not_finite_ = record.not_finite;
  measured.max_abs_err_ = record.max_abs_err;
  measured.max_rel_err_ = record.max_rel_err;
  measured.first_ = record.first;
  measured.first_expected_ = first.expected;
  measured.first_got_ = first.got;
  measured.last_ = record.last;
  measured.worst_ = record.worst;
  measured.worst_expected_ = worst.expected;
  measured.worst_got_ = worst.got;
  measured.worst_excess_ = record.worst_excess;
  append(measured);
}

Mismatch Comparison::mismatch() const {
  return {.trial = 0,
          .output = 0,
          .element = first_,
          .expected = first_expected_,
          .got = first_got_,
          .max_abs_err = max_abs_err_,
          .max_rel_err = max_rel_err_,
          .mismatched = mismatched_,
          .total = total_,
          .worst_place = {},
          .worst_expected = worst_expected_,
          .worst_got = worst_got_,
          .worst_error = std::abs(worst_got_ - worst_expected_),
          .worst_allowed = tolerance_.atol + tolerance_.rtol * std::abs(worst_expected_),
          .rtol = tolerance_.rtol,
          .atol = tolerance_.atol,
          .not_finite = not_finite_};
}

template <class Format>
void Comparison::add_floats(std::span<const std::byte> expected_bytes, std::span<const std::byte> got_bytes) {
  using Stored = typename Format::Stored;
  const Stored* const expected = elements<Stored>(expected_bytes);
  const Stored* const got = elements<Stored>(got_bytes);
  const std::size_t n = expected_bytes.size() / sizeof(Stored);  // parts
  KQ_CHECK(n % Format::kParts == 0);
  for (std::size_t start = 0; start < n; start += kBlock) {
    const std::size_t size = std::min(kBlock, n - start);
    if (same_bytes(expected + start, got + start, size * sizeof(Stored))) continue;
    if (size == kBlock) {
      if (const auto worst = compare_stored<Format>(expected + start, got + start, tolerance_)) {
        max_abs_err_ = std::max(max_abs_err_, worst->abs_err);
        max_rel_err_ = std::max(max_rel_err_, worst->rel_err);
        continue;
      }
      if constexpr (Format::kParts == 1) {
        if (add_block(total_ + start, doubles<Format>(expected + start), doubles<Format>(got + start))) continue;
      }
    }
    for (std::size_t i = start; i < start + size; i += Format::kParts) {
      bool is_noted = false;  // of a complex element, its first wrong part is recorded
      for (std::size_t part = i; part < i + Format::kParts; ++part) {
        const double e = static_cast<double>(Format::value(expected[part]));
        const double g = static_cast<double>(Format::value(got[part]));
        const bool is_equal = close(e, g, tolerance_);
        note(total_ + i / Format::kParts, is_equal || is_noted, e, g);
        is_noted = is_noted || !is_equal;
      }
    }
  }
  total_ += n / Format::kParts;
}

bool Comparison::add_block(std::uint64_t first, std::span<const double> expected, std::span<const double> got) {
  const BlockErrors errors = measure_block(expected.data(), got.data(), tolerance_);
  if (!errors.is_finite) return false;
  max_abs_err_ = std::max(max_abs_err_, errors.worst.abs_err);
  max_rel_err_ = std::max(max_rel_err_, errors.worst.rel_err);
  if (errors.wrong == 0) return true;
  // The ends of these searches hold where a compiler rounds the two ways to the same figure differently.
  constexpr std::size_t kLast = kBlock - 1;
  const auto is_wrong = [&](std::size_t i) { return !close(expected[i], got[i], tolerance_); };
  if (mismatched_ == 0) {
    std::size_t i = 0;
    while (i < kLast && !is_wrong(i)) ++i;
    first_ = first + i;
    first_expected_ = expected[i];
    first_got_ = got[i];
  }
  std::size_t end = kBlock;
  while (end > 1 && !is_wrong(end - 1)) --end;
  last_ = first + end - 1;
  mismatched_ += errors.wrong;
  if (errors.excess <= worst_excess_) return true;
  std::size_t i = 0;
  while (i < kLast && excess_of(expected[i], got[i], tolerance_) < errors.excess) ++i;
  worst_excess_ = errors.excess;
  worst_ = first + i;
  worst_expected_ = expected[i];
  worst_got_ = got[i];
  return true;
}

template <class Integer>
void Comparison::add_integers(std::span<const std::byte> expected_bytes, std::span<const std::byte> got_bytes) {
  const Integer* const expected = elements<Integer>(expected_bytes);
  const Integer* const got = elements<Integer>(got_bytes);
  const std::size_t n = expected_bytes.size() / sizeof(Integer);
  for (std::size_t start = 0; start < n; start += kBlock) {
    const std::size_t size = std::min(kBlock, n - start);
    if (same_bytes(expected + start, got + start, size * sizeof(Integer))) continue;
    for (std::size_t i = start; i < start + size; ++i) {
      note(total_ + i, expected[i] == got[i], static_cast<double>(expected[i]), static_cast<double>(got[i]));
    }
  }
  total_ += n;
}

void Comparison::add_booleans(std::span<const std::byte> expected, std::span<const std::byte> got) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool e = expected[i] != std::byte{0};
    note(total_ + i, got[i] == static_cast<std::byte>(e), e ? 1 : 0, std::to_integer<int>(got[i]));
  }
  total_ += expected.size();
}

void Comparison::note(std::uint64_t element, bool is_equal, double expected, double got) {
  if (!is_equal && mismatched_++ == 0) {
    first_ = element;
    first_expected_ = expected;
    first_got_ = got;
  }
  if (!is_equal) {
    last_ = element;
    const double excess = excess_of(expected, got, tolerance_);
    if (excess > worst_excess_) {
      worst_excess_ = excess;
      worst_ = element;
      worst_expected_ = expected;
      worst_got_ = got;
    }
  }
  if (std::isfinite(expected) && !std::isfinite(got)) ++not_finite_;
  if (!std::isfinite(expected) || !std::isfinite(got)) return;
  const double error = std::abs(got - expected);
  max_abs_err_ = std::max(max_abs_err_, error);
  if (expected != 0) max_rel_err_ = std::max(max_rel_err_, error / std::abs(expected));
}

}  // namespace kq::judge
