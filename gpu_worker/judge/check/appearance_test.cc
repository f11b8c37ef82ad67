#include "gpu_worker/judge/check/appearance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kq::judge {
namespace {

using Numbers = std::vector<double>;

// Numbers without a pattern, none of them near 0 or to each other.
Numbers drawn(std::size_t count) {
  Numbers numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(2 + std::sin(static_cast<double>(i * i) * 1.7 + 1));
  return numbers;
}

std::string word_of(const std::vector<std::int64_t>& shape, const Numbers& expected, const Numbers& got,
                    std::vector<bool> unwritten = {}) {
  WrongOutput output{.shape = shape,
                     .expected = expected,
                     .got = got,
                     .unwritten = std::move(unwritten),
                     .tolerance = {.rtol = 1e-4, .atol = 1e-4},
                     .total = expected.size()};
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::abs(got[i] - expected[i]) <= 1e-4 + 1e-4 * std::abs(expected[i])) continue;
    if (output.mismatched++ == 0) output.first = i;
    output.last = i;
  }
  return appearance_of(output).word;
}

TEST(Appearance, knows_zeros) {
  EXPECT_EQ(word_of({8, 8}, drawn(64), Numbers(64, 0.0)), "zeros");
}

TEST(Appearance, knows_elements_that_were_never_written) {
  Numbers got = drawn(64);
  std::vector<bool> unwritten(64, false);
  for (std::size_t i = 60; i < 64; ++i) got[i] = std::numeric_limits<double>::quiet_NaN(), unwritten[i] = true;
  EXPECT_EQ(word_of({64}, drawn(64), got, unwritten), "unwritten");
}

TEST(Appearance, knows_a_transposed_matrix) {
  const Numbers expected = drawn(6 * 8);
  Numbers got(6 * 8);
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t column = 0; column < 8; ++column) got[column * 6 + row] = expected[row * 8 + column];
  }
  EXPECT_EQ(word_of({6, 8}, expected, got), "transposed");
}

TEST(Appearance, knows_rows_that_are_off_by_one) {
  const Numbers expected = drawn(65 * 4);
  Numbers got(expected.begin() + 4, expected.end());
  got.resize(expected.size(), 7.0);
  EXPECT_EQ(word_of({65, 4}, expected, got), "shifted");
  Numbers later(4, 7.0);
  later.insert(later.end(), expected.begin(), expected.end() - 4);
  EXPECT_EQ(word_of({65, 4}, expected, later), "shifted");
}

TEST(Appearance, knows_the_tail_of_a_dimension_and_of_a_vector) {
  Numbers got = drawn(16 * 10);
  for (std::size_t row = 0; row < 16; ++row) got[row * 10 + 8] = got[row * 10 + 9] = 9;
  EXPECT_EQ(word_of({16, 10}, drawn(16 * 10), got), "tail");
  Numbers vector = drawn(100);
  for (std::size_t i = 96; i < 100; ++i) vector[i] = 9;
  EXPECT_EQ(word_of({100}, drawn(100), vector), "tail");
}

TEST(Appearance, knows_one_tile) {
  Numbers got = drawn(64 * 64);
  for (std::size_t row = 16; row < 32; ++row) {
    for (std::size_t column = 32; column < 48; ++column) got[row * 64 + column] += 1;
  }
  EXPECT_EQ(word_of({64, 64}, drawn(64 * 64), got), "tile");
}

TEST(Appearance, knows_a_lower_precision) {
  Numbers got = drawn(256);
  for (std::size_t i = 0; i < got.size(); ++i) got[i] *= 1 + (i % 2 == 0 ? 3e-3 : -3e-3);
  EXPECT_EQ(word_of({16, 16}, drawn(256), got), "bf16");
  for (std::size_t i = 0; i < got.size(); ++i) got[i] = drawn(256)[i] * (1 + (i % 2 == 0 ? 3e-4 : -3e-4));
  EXPECT_EQ(word_of({16, 16}, drawn(256), got), "tf32");
}

TEST(Appearance, integers_have_no_precision) {
  const Numbers expected = {93, 120, 7, 64}, got = {94, 120, 7, 64};
  const WrongOutput output{
      .shape = {4}, .expected = expected, .got = got, .tolerance = {.rtol = 0, .atol = 0}, .mismatched = 1, .total = 4};
  EXPECT_EQ(appearance_of(output).word, "");
}

TEST(Appearance, knows_nothing_of_other_numbers) {
  Numbers got = drawn(256);
  for (std::size_t i = 0; i < got.size(); ++i) got[i] = std::cos(static_cast<double>(i));
  EXPECT_EQ(word_of({16, 16}, drawn(256), got), "");
  EXPECT_EQ(word_of({1}, {1.0}, {2.0}), "");
}

TEST(Appearance, knows_forms_that_nearly_agree) {
  const auto tensor = [](channel::Dtype dtype, std::vector<std::int64_t> shape) {
    return Tensor{.kind = channel::Kind::tensor, .dtype = dtype, .shape = std::move(shape)};
  };
  using channel::Dtype;
  EXPECT_EQ(appearance_of_form(tensor(Dtype::int64, {4}), tensor(Dtype::int32, {4})).word, "cast");
  EXPECT_EQ(appearance_of_form(tensor(Dtype::int64, {4, 2}), tensor(Dtype::int64, {2, 4})).word, "transposed");
  EXPECT_EQ(appearance_of_form(tensor(Dtype::int64, {4, 1}), tensor(Dtype::int64, {4})).word, "keepdim");
  EXPECT_EQ(appearance_of_form(tensor(Dtype::int64, {4, 2}), tensor(Dtype::float32, {3})).word, "");
  EXPECT_EQ(appearance_of_form(tensor(Dtype::int64, {4}), Tensor{}).word, "");
}

bool nearly_equal(const Numbers& expected, const Numbers& got, Tolerance tolerance) {
  NearlyEqual comparison(expected.size(), tolerance);
  comparison.add(expected, got);
  return comparison.is_equal();
}

TEST(NearlyEqual, adds_pieces_until_too_many_elements_differ) {
  NearlyEqual comparison(200, {.rtol = 1e-4, .atol = 1e-4});
  Numbers got = drawn(100);
  for (std::size_t i = 0; i < 10; ++i) got[i] += 1;
  EXPECT_TRUE(comparison.add(drawn(100), got));
  EXPECT_TRUE(comparison.add(drawn(100), drawn(100)));
  EXPECT_TRUE(comparison.is_equal());
  EXPECT_FALSE(comparison.add({{1.0}}, {{2.0}}));
  EXPECT_FALSE(comparison.is_equal());
}

TEST(NearlyEqual, needs_agreement_that_is_not_of_small_numbers_only) {
  EXPECT_TRUE(nearly_equal(drawn(100), drawn(100), {.rtol = 1e-4, .atol = 1e-4}));
  EXPECT_FALSE(nearly_equal(drawn(100), Numbers(100, 0.0), {.rtol = 1e-4, .atol = 1e-4}));
  EXPECT_FALSE(nearly_equal(Numbers(100, 0.0), Numbers(100, 0.0), {.rtol = 1e-4, .atol = 1e-4}));
}

TEST(PartToLookAt, begins_with_the_matrix_of_the_first_wrong_element) {
  EXPECT_EQ(part_to_look_at({10, 10}, 100, 50).elements, 100u);
  const std::int64_t n = 4096;
  const Part part = part_to_look_at({n, 128, 128}, static_cast<std::uint64_t>(n) * 128 * 128, 128 * 128 * 5 + 77);
  EXPECT_EQ(part.begin, 128u * 128 * 5);
  EXPECT_EQ(part.elements, kAppearanceElementsMax);
  const Part last = part_to_look_at({n, n}, static_cast<std::uint64_t>(n) * n, static_cast<std::uint64_t>(n) * n - 1);
  EXPECT_EQ(last.begin + last.elements, static_cast<std::uint64_t>(n) * n);
}

TEST(PlaceOf, names_the_indices) {
  EXPECT_EQ(place_of({4, 5}, 13), "[2, 3]");
  EXPECT_EQ(place_of({}, 0), "[]");
  const Tensor rows{.dtype = channel::Dtype::float32, .shape = {4, 5}};
  EXPECT_EQ(place_of_byte(rows, 13 * 4 + 2), "[2, 3]");
  const Tensor columns{.dtype = channel::Dtype::float32, .shape = {4, 5}, .strides = {1, 4}};
  EXPECT_EQ(place_of_byte(columns, 13 * 4), "[1, 3]");
  const Tensor spread{.dtype = channel::Dtype::float32, .shape = {4, 5}, .strides = {16, 2}};
  EXPECT_EQ(place_of_byte(spread, (16 + 4) * 4), "[1, 2]");
  EXPECT_EQ(place_of_byte(spread, (16 + 5) * 4), "byte 84") << "between two elements";
  EXPECT_EQ(place_of_byte(Tensor{}, 7), "byte 7") << "the dtype is unknown";
}

}  // namespace
}  // namespace kq::judge
