#include "gpu_worker/judge/check/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/judge/check/slices.h"
#include "gpu_worker/judge/testing/measured_on_host.h"

namespace kq::judge {
namespace {

using channel::Dtype;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
Comparison compare(Dtype dtype, const std::vector<T>& expected, const std::vector<T>& got,
                   std::optional<double> rtol = {}, std::optional<double> atol = {}) {
  Comparison comparison(dtype, tolerance_for(dtype, rtol, atol));
  comparison.add(std::as_bytes(std::span(expected)), std::as_bytes(std::span(got)));
  return comparison;
}

// Rounds to nearest even. This direction of the conversion is independent of compare.cc, and so checks both half
// formats.
std::uint16_t half(double value) {
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double decoded =
        exponent == 0 ? std::ldexp(bits & 0x3FF, -24) : std::ldexp((bits & 0x3FF) | 0x400, exponent - 25);
    if (decoded == std::abs(value)) return static_cast<std::uint16_t>(bits | (std::signbit(value) ? 0x8000u : 0u));
  }
  ADD_FAILURE() << value << " is no half";
  return 0;
}
std::uint16_t brain(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

TEST(Tolerances, are_by_dtype_unless_the_problem_says_otherwise) {
  EXPECT_EQ(tolerance_for(Dtype::float64, {}, {}).rtol, 1e-7);
  EXPECT_EQ(tolerance_for(Dtype::float32, {}, {}).atol, 1e-4);
  EXPECT_EQ(tolerance_for(Dtype::float16, {}, {}).atol, 1e-2);
  EXPECT_EQ(tolerance_for(Dtype::bfloat16, {}, {}).rtol, 1e-2);
  EXPECT_EQ(tolerance_for(Dtype::complex64, {}, {}).rtol, 1e-4);
  EXPECT_EQ(tolerance_for(Dtype::complex128, {}, {}).rtol, 1e-7);
  EXPECT_EQ(tolerance_for(Dtype::float32, 0.5, {}).rtol, 0.5);
  EXPECT_EQ(tolerance_for(Dtype::float32, 0.5, {}).atol, 1e-4);
  EXPECT_EQ(tolerance_for(Dtype::float32, {}, 0.25).atol, 0.25);
}

TEST(Compare, floats_within_the_tolerance_are_equal) {
  EXPECT_TRUE(compare<float>(Dtype::float32, {1000.0f, 0.0f}, {1000.05f, 0.00009f}).equal());
  EXPECT_FALSE(compare<float>(Dtype::float32, {1000.0f}, {1000.2f}).equal());
  EXPECT_FALSE(compare<float>(Dtype::float32, {0.0f}, {0.0002f}).equal());
  EXPECT_TRUE(compare<double>(Dtype::float64, {1.0}, {1.0 + 1.9e-7}).equal());
  EXPECT_FALSE(compare<double>(Dtype::float64, {1.0}, {1.0 + 2.1e-7}).equal());
  EXPECT_TRUE(compare<float>(Dtype::float32, {0.0f}, {-0.0f}, 0, 0).equal());
}

TEST(Compare, reports_the_first_mismatch_and_the_worst_errors) {
  const auto comparison = compare<float>(Dtype::float32, {1, 2, -4, 0}, {1, 3, -2, 0.5f});
  EXPECT_FALSE(comparison.equal());
  EXPECT_EQ(comparison.reason(), "value");
  const Mismatch mismatch = comparison.mismatch();
  EXPECT_EQ(mismatch.element, 1u);
  EXPECT_EQ(mismatch.expected, 2);
  EXPECT_EQ(mismatch.got, 3);
  EXPECT_EQ(mismatch.mismatched, 3u);
  EXPECT_EQ(mismatch.total, 4u);
  EXPECT_EQ(mismatch.max_abs_err, 2);
  EXPECT_EQ(mismatch.max_rel_err, 0.5);
}

TEST(Compare, nan_belongs_only_where_the_reference_has_it) {
  EXPECT_TRUE(compare<double>(Dtype::float64, {kNan, 1}, {-kNan, 1}).equal());
  EXPECT_EQ(compare<double>(Dtype::float64, {1, 1}, {1, kNan}).reason(), "nan");
  EXPECT_FALSE(compare<double>(Dtype::float64, {1, 1}, {1, kNan}).equal());
  const auto missing = compare<double>(Dtype::float64, {kNan}, {1});
  EXPECT_FALSE(missing.equal());
  EXPECT_EQ(missing.reason(), "value");
}

TEST(Compare, infinities_are_equal_by_sign) {
  EXPECT_TRUE(compare<double>(Dtype::float64, {kInf, -kInf}, {kInf, -kInf}).equal());
  EXPECT_FALSE(compare<double>(Dtype::float64, {kInf}, {-kInf}).equal());
  EXPECT_FALSE(compare<double>(Dtype::float64, {kInf}, {1e300}, kInf).equal());
  EXPECT_EQ(compare<double>(Dtype::float64, {1}, {kInf}).reason(), "nan");
  EXPECT_FALSE(compare<double>(Dtype::float64, {1}, {kInf}, 1e300, 1e300).equal());
  EXPECT_FALSE(compare<double>(Dtype::float64, {kInf}, {kNan}).equal());
}

TEST(Compare, float16_elements) {
  EXPECT_TRUE(
      compare<std::uint16_t>(Dtype::float16, {half(1), half(0x1p-24)}, {half(1 + 0x1p-7), half(-0x1p-24)}).equal());
  const auto wrong = compare<std::uint16_t>(Dtype::float16, {half(-2.5), half(65504)}, {half(-2.5), half(1)});
  EXPECT_EQ(wrong.mismatch().expected, 65504);
  EXPECT_EQ(wrong.mismatch().got, 1);
  EXPECT_EQ(wrong.mismatch().element, 1u);
  EXPECT_TRUE(compare<std::uint16_t>(Dtype::float16, {0x7E00, 0x7C00, 0xFC00}, {0xFE01, 0x7C00, 0xFC00}).equal());
  EXPECT_EQ(compare<std::uint16_t>(Dtype::float16, {half(1)}, {0x7C00}).reason(), "nan");
  EXPECT_EQ(compare<std::uint16_t>(Dtype::float16, {half(0x1p-24)}, {half(0)}, 0, 0).mismatch().expected, 0x1p-24);
}

TEST(Compare, bfloat16_elements) {
  EXPECT_TRUE(compare<std::uint16_t>(Dtype::bfloat16, {brain(1)}, {brain(1.0078125f)}).equal());
  EXPECT_EQ(compare<std::uint16_t>(Dtype::bfloat16, {brain(-3e38f)}, {brain(2)}).mismatch().got, 2);
  EXPECT_TRUE(compare<std::uint16_t>(Dtype::bfloat16, {0x7FC0}, {0xFFFF}).equal());
}

TEST(Compare, numbers_of_eight_bits) {
  const auto value = [](Dtype dtype, std::uint8_t bits) {
    return numbers_of(dtype, std::as_bytes(std::span(&bits, 1))).at(0);
  };
  // The bits and values are those that torch gives.
  EXPECT_EQ(value(Dtype::float8_e4m3fn, 0x38), 1.0);
  EXPECT_EQ(value(Dtype::float8_e4m3fn, 0x7E), 448.0);
  EXPECT_EQ(value(Dtype::float8_e4m3fn, 0x81), -0x1p-9);
  EXPECT_TRUE(std::isnan(value(Dtype::float8_e4m3fn, 0xFF)));
  EXPECT_EQ(value(Dtype::float8_e5m2, 0x3D), 1.25);
  EXPECT_EQ(value(Dtype::float8_e5m2, 0x01), 0x1p-16);
  EXPECT_EQ(value(Dtype::float8_e5m2, 0xFC), -kInf);
  EXPECT_TRUE(std::isnan(value(Dtype::float8_e5m2, 0x7D)));
  EXPECT_EQ(value(Dtype::float8_e4m3fnuz, 0x40), 1.0);
  EXPECT_EQ(value(Dtype::float8_e4m3fnuz, 0x7F), 240.0);
  EXPECT_EQ(value(Dtype::float8_e5m2fnuz, 0x40), 1.0);
  EXPECT_TRUE(std::isnan(value(Dtype::float8_e5m2fnuz, 0x80)));
  EXPECT_EQ(value(Dtype::float8_e8m0fnu, 0x80), 2.0);
  EXPECT_TRUE(std::isnan(value(Dtype::float8_e8m0fnu, 0xFF)));
  // One step of the format is allowed, two are not.
  EXPECT_TRUE(compare<std::uint8_t>(Dtype::float8_e4m3fn, {0x38, 0x00}, {0x39, 0x01}).equal());
  EXPECT_FALSE(compare<std::uint8_t>(Dtype::float8_e4m3fn, {0x38}, {0x3A}).equal());
  EXPECT_EQ(compare<std::uint8_t>(Dtype::float8_e4m3fn, {0x38}, {0x7F}).reason(), "nan");
  EXPECT_TRUE(compare<std::uint8_t>(Dtype::float8_e5m2, {0x3C}, {0x3D}).equal());
  EXPECT_FALSE(compare<std::uint8_t>(Dtype::float8_e5m2, {0x3C}, {0x3E}).equal());
}

TEST(Compare, unsigned_integers_are_exact) {
  EXPECT_TRUE(compare<std::uint16_t>(Dtype::uint16, {65535}, {65535}, 1.0, 1.0).equal());
  EXPECT_FALSE(compare<std::uint32_t>(Dtype::uint32, {0xFFFFFFFF}, {0xFFFFFFFE}, 1.0, 1.0).equal());
  EXPECT_EQ(compare<std::uint64_t>(Dtype::uint64, {1ull << 63}, {0}).mismatch().expected, 0x1p63);
}

TEST(Compare, integers_are_exact_whatever_the_tolerance) {
  EXPECT_TRUE(compare<std::int64_t>(Dtype::int64, {1ll << 62}, {1ll << 62}).equal());
  EXPECT_FALSE(compare<std::int64_t>(Dtype::int64, {1ll << 62}, {(1ll << 62) + 1}, 1, 1).equal());
  EXPECT_FALSE(compare<std::int32_t>(Dtype::int32, {7}, {8}, 1, 1).equal());
  EXPECT_EQ(compare<std::int16_t>(Dtype::int16, {7, -3}, {7, 3}).mismatch().max_abs_err, 6);
  EXPECT_EQ(compare<std::int8_t>(Dtype::int8, {-128}, {127}).mismatch().expected, -128);
  EXPECT_EQ(compare<std::uint8_t>(Dtype::uint8, {255}, {0}).mismatch().expected, 255);
}

TEST(Compare, booleans_are_zero_or_one) {
  EXPECT_TRUE(compare<std::uint8_t>(Dtype::boolean, {0, 1, 2}, {0, 1, 1}).equal());
  EXPECT_EQ(compare<std::uint8_t>(Dtype::boolean, {1, 1}, {1, 0xFF}).mismatch().got, 255);
  EXPECT_FALSE(compare<std::uint8_t>(Dtype::boolean, {0}, {1}).equal());
}

TEST(Compare, a_complex_element_counts_once) {
  const auto comparison = compare<float>(Dtype::complex64, {1, 2, 3, 4}, {1, 2, 5, 6});
  EXPECT_EQ(comparison.mismatch().element, 1u);
  EXPECT_EQ(comparison.mismatch().mismatched, 1u);
  EXPECT_EQ(comparison.mismatch().total, 2u);
  const auto imaginary = compare<double>(Dtype::complex128, {1, 2}, {1, 9});
  EXPECT_EQ(imaginary.mismatch().expected, 2);
  EXPECT_EQ(imaginary.mismatch().got, 9);
}

TEST(Compare, nothing_equals_nothing) {
  const auto comparison = compare<float>(Dtype::float32, {}, {});
  EXPECT_TRUE(comparison.equal());
  EXPECT_EQ(comparison.mismatch().total, 0u);
}

TEST(Compare, a_piece_of_many_slices_is_compared_like_small_pieces) {
  std::vector<float> expected(3 * kSliceBytes / sizeof(float) + 5, 1.0f);
  std::vector<float> got = expected;
  for (std::size_t i = 7; i < got.size(); i += 100'003) got[i] += static_cast<float>(i % 11) * 0.1f;
  got[600'000] = -9;
  const Tolerance tolerance{.rtol = 1e-4, .atol = 1e-4};
  Comparison whole(Dtype::float32, tolerance);
  whole.add(std::as_bytes(std::span(expected)), std::as_bytes(std::span(got)));
  Comparison pieces(Dtype::float32, tolerance);
  for (std::size_t i = 0; i < got.size(); i += 50'000) {
    const std::size_t count = std::min<std::size_t>(50'000, got.size() - i);
    pieces.add(std::as_bytes(std::span(&expected[i], count)), std::as_bytes(std::span(&got[i], count)));
  }
  EXPECT_EQ(whole.worst(), 600'000u);
  EXPECT_EQ(whole.mismatch(), pieces.mismatch());
  EXPECT_EQ(whole.worst(), pieces.worst());
  EXPECT_EQ(whole.last(), pieces.last());
}

TEST(Compare, elements_are_numbered_across_pieces) {
  const std::vector<float> expected{1, 2};
  const std::vector<float> got{1, 5};
  Comparison comparison(Dtype::float32, {});
  comparison.add(std::as_bytes(std::span(expected)), std::as_bytes(std::span(expected)));
  comparison.add(std::as_bytes(std::span(expected)), std::as_bytes(std::span(got)));
  EXPECT_EQ(comparison.mismatch().element, 3u);
  EXPECT_EQ(comparison.mismatch().total, 4u);
}

// Large tensors are compared in vectorised blocks. These must agree with the comparison of single elements, wherever
// the wrong element lies.
TEST(Compare, blocks_agree_with_single_elements) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> draw(-2, 2);
  const float evil[] = {
      std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f, 1e-42f, 0.0f, -0.0f};
  for (int round = 0; round < 200; ++round) {
    std::vector<float> expected(2500);
    for (float& value : expected) value = draw(random);
    std::vector<float> got = expected;
    for (float& value : got) value *= 1 + 2e-5f * draw(random);
    for (int i = 0; i < round % 4; ++i) {
      expected[random() % 2500] = evil[random() % 6];
      got[random() % 2500] = evil[random() % 6];
    }
    const auto whole = compare(Dtype::float32, expected, got);
    Comparison single(Dtype::float32, tolerance_for(Dtype::float32, {}, {}));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      single.add(std::as_bytes(std::span(&expected[i], 1)), std::as_bytes(std::span(&got[i], 1)));
    }
    ASSERT_EQ(whole.equal(), single.equal());
    ASSERT_EQ(whole.reason(), single.reason());
    ASSERT_EQ(whole.mismatch().element, single.mismatch().element);
    ASSERT_EQ(whole.mismatch().mismatched, single.mismatch().mismatched);
    ASSERT_NEAR(whole.max_abs_err(), single.max_abs_err(), 1e-6 * single.max_abs_err());
    ASSERT_NEAR(whole.max_rel_err(), single.max_rel_err(), 1e-6 * single.max_rel_err());
  }
}

// The same where wrong elements are many, for a dtype that is stored as doubles and one that is not.
template <class T>
void expect_blocks_of_wrong_elements_as_single_ones(Dtype dtype) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> draw(-2, 2);
  for (int round = 0; round < 50; ++round) {
    std::vector<T> expected(4096);
    for (T& value : expected) value = static_cast<T>(random() % 8 == 0 ? 0 : draw(random));
    std::vector<T> got = expected;
    for (T& value : got) {
      if (random() % (1 + round) == 0) value += static_cast<T>(draw(random));
    }
    if (round % 5 == 1) got[random() % 4096] = std::numeric_limits<T>::infinity();
    if (round % 5 == 2) expected[random() % 4096] = -std::numeric_limits<T>::infinity();
    if (round % 5 == 3) got[random() % 4096] = std::numeric_limits<T>::lowest();
    const auto whole = compare(dtype, expected, got);
    Comparison single(dtype, tolerance_for(dtype, {}, {}));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      single.add(std::as_bytes(std::span(&expected[i], 1)), std::as_bytes(std::span(&got[i], 1)));
    }
    ASSERT_EQ(whole.mismatch(), single.mismatch()) << "round " << round;
    ASSERT_EQ(whole.worst(), single.worst());
    ASSERT_EQ(whole.last(), single.last());
  }
}

TEST(Compare, blocks_of_wrong_elements_agree_with_single_elements) {
  expect_blocks_of_wrong_elements_as_single_ones<float>(Dtype::float32);
  expect_blocks_of_wrong_elements_as_single_ones<double>(Dtype::float64);
}

TEST(Compare, a_share_of_elements_may_differ_where_the_problem_says_so) {
  const std::vector<float> expected(100, 1.0f);
  std::vector<float> got = expected;
  got[3] = got[77] = 2.0f;
  const auto is_right = [&](double matched) {
    const ProblemTolerance named{.rtol = {}, .atol = {}, .matched = matched};
    Comparison comparison(Dtype::float32, tolerance_for(Dtype::float32, {}, {}, named));
    comparison.add(std::as_bytes(std::span(expected)), std::as_bytes(std::span(got)));
    return comparison.equal();
  };
  EXPECT_TRUE(is_right(0.98));
  EXPECT_FALSE(is_right(0.99));
  got[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(is_right(0.5)) << "a number that is not finite is never within a tolerance";
}

// Threads of a device that take every seventh element find what the host finds, in total.
TEST(Compare, records_of_a_device_replace_the_comparison_of_the_host) {
  constexpr std::uint64_t kThreads = 7;
  const Tolerance tolerance = tolerance_for(Dtype::float64, {}, {});
  std::mt19937_64 random(5);
  for (const double special : {0.0, -0.0, kNan, kInf, -kInf, 1e308}) {
    std::vector<double> expected(3'001), got;
    for (double& value : expected) value = static_cast<double>(random() % 64) / 8 - 4;
    got = expected;
    for (double& value : got) value += random() % 20 == 0 ? static_cast<double>(random() % 4) : 1e-9;
    for (int i = 0; i < 9; ++i) (i % 3 == 0 ? expected : got)[random() % got.size()] = special;
    got[1'500] = 4e3;
    const Comparison by_host = compare(Dtype::float64, expected, got, tolerance.rtol, tolerance.atol);
    std::vector<ErrorRecord> records(kThreads);
    for (std::uint64_t i = 0; i < got.size(); ++i) note(records[i % kThreads], i, expected[i], got[i], tolerance);
    const ErrorRecord record = merged(records);
    Comparison by_device(Dtype::float64, tolerance);
    by_device.add_measured(got.size(), record, {expected[record.first], got[record.first]},
                           {expected[record.worst], got[record.worst]});
    const Mismatch a = by_device.mismatch(), b = by_host.mismatch();
    EXPECT_EQ(a.mismatched, b.mismatched) << special;
    EXPECT_EQ(a.total, b.total);
    EXPECT_EQ(a.not_finite, b.not_finite) << special;
    EXPECT_EQ(a.element, b.element) << special;
    EXPECT_EQ(a.max_abs_err, b.max_abs_err) << special;
    EXPECT_EQ(a.max_rel_err, b.max_rel_err) << special;
    EXPECT_EQ(by_device.worst(), by_host.worst()) << special;
    EXPECT_EQ(by_device.last(), by_host.last()) << special;
    EXPECT_EQ(by_device.reason(), by_host.reason()) << special;
    EXPECT_EQ(by_device.equal(), by_host.equal());
  }
}

TEST(Compare, a_device_may_find_that_no_element_is_wrong) {
  Comparison comparison(Dtype::float32, {});
  comparison.add_measured(8, {.max_abs_err = 0.5, .max_rel_err = 0.25}, {}, {});
  EXPECT_TRUE(comparison.equal());
  EXPECT_EQ(comparison.mismatch().total, 8u);
  EXPECT_EQ(comparison.max_abs_err(), 0.5);
  EXPECT_EQ(comparison.max_rel_err(), 0.25);
}

TEST(Compare, the_submissions_tolerance_goes_before_the_problems_and_that_before_the_dtypes) {
  const ProblemTolerance named{.rtol = 0.5, .atol = {}};
  const Tolerance by_problem = tolerance_for(Dtype::float32, {}, {}, named);
  EXPECT_EQ(by_problem.rtol, 0.5);
  EXPECT_EQ(by_problem.atol, 1e-4);
  EXPECT_EQ(tolerance_for(Dtype::float32, 0.25, {}, named).rtol, 0.25);
}

}  // namespace
}  // namespace kq::judge
