#include "gpu_worker/judge/tensor/table.h"

#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

using channel::Dtype;
using channel::Kind;
using channel::TensorDesc;

TensorDesc tensor_row(Dtype dtype, std::vector<std::int64_t> shape) {
  return row_of({.name = "x", .kind = Kind::tensor, .dtype = dtype, .shape = std::move(shape)});
}

std::string error_of(const TensorDesc& row) {
  const auto table = read_table(std::span(&row, 1), "output");
  return table ? "" : table.error();
}

TEST(ReadTable, computes_the_size_itself) {
  TensorDesc row = tensor_row(Dtype::float32, {3, 4});
  row.bytes = 1;
  row.offset = 77;
  const auto table = read_table(std::span(&row, 1), "input");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->at(0).bytes, 48u);
  EXPECT_EQ(table->at(0).offset, 0u);
  EXPECT_EQ(describe(table->at(0)), "float32[3, 4]");
}

TEST(ReadTable, reads_scalars_and_empty_tensors) {
  const TensorDesc rows[] = {tensor_row(Dtype::complex128, {}),
                             tensor_row(Dtype::int64, {1'000'000, 0, 1'000'000'000'000'000})};
  const auto table = read_table(rows, "input");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->at(0).bytes, 16u);
  EXPECT_EQ(table->at(1).bytes, 0u);
}

TEST(ReadTable, gives_a_plain_value_no_shape) {
  TensorDesc row = tensor_row(Dtype::float32, {3});
  row.kind = Kind::integer;
  row.integer = -5;
  const auto table = read_table(std::span(&row, 1), "input");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->at(0).integer, -5);
  EXPECT_EQ(table->at(0).bytes, 0u);
  EXPECT_TRUE(table->at(0).shape.empty());
  EXPECT_EQ(describe(table->at(0)), "integer");
}

TEST(ReadTable, refuses_values_that_the_protocol_does_not_allow) {
  EXPECT_EQ(error_of(tensor_row(static_cast<Dtype>(22), {1})), "output 0 with an unknown dtype");
  EXPECT_EQ(error_of(tensor_row(Dtype::none, {1})), "output 0 with an unknown dtype");
  EXPECT_EQ(error_of(tensor_row(Dtype::int8, {-1})), "output 0 with a negative size");
  EXPECT_EQ(error_of(tensor_row(Dtype::int8, {0, -1})), "output 0 with a negative size");
  EXPECT_EQ(error_of(tensor_row(Dtype::float32, {1ll << 62, 8})), "output 0 with a size beyond any memory");
  EXPECT_EQ(error_of(tensor_row(Dtype::int8, {1ll << 49})), "output 0 with a size beyond any memory");
  TensorDesc row = tensor_row(Dtype::int8, {1});
  row.ndim = 9;
  EXPECT_EQ(error_of(row), "output 0 with too many dimensions");
  row.kind = static_cast<Kind>(5);
  EXPECT_EQ(error_of(row), "output 0 with an unknown kind");
}

TEST(ReadTable, a_tensor_with_strides_reaches_from_its_first_to_its_last_element) {
  const auto bytes_of = [](const TensorDesc& row) {
    const auto table = read_table(std::span(&row, 1), "input", Strides::read);
    return table ? std::to_string(table->at(0).bytes) : table.error();
  };
  const auto strided = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    return row_of(
        {.kind = Kind::tensor, .dtype = Dtype::float32, .shape = std::move(shape), .strides = std::move(strides)});
  };
  EXPECT_EQ(bytes_of(strided({2, 3}, {1, 2})), "24");
  EXPECT_EQ(bytes_of(strided({4, 8}, {0, 1})), "32");
  EXPECT_EQ(bytes_of(strided({4, 8}, {16, 2})), "252");
  EXPECT_EQ(bytes_of(strided({4, 0}, {16, 2})), "0");
  EXPECT_EQ(bytes_of(strided({2}, {-1})), "input 0 with a negative stride");
  EXPECT_EQ(bytes_of(strided({3}, {1ll << 62})), "input 0 with strides beyond any memory");
  EXPECT_EQ(bytes_of(strided({2}, {1ll << 47})), "input 0 with strides beyond any memory");
  // Outputs and states are row-major, whatever the row says.
  const TensorDesc row = strided({2, 3}, {100, 100});
  EXPECT_EQ(read_table(std::span(&row, 1), "output")->at(0).bytes, 24u);
}

TEST(ReadTable, bounds_names_without_a_nul) {
  TensorDesc row = tensor_row(Dtype::int8, {1});
  std::memset(row.name, '\1', sizeof row.name);
  const auto table = read_table(std::span(&row, 1), "input");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->at(0).name, std::string(sizeof row.name, '?'));
}

TEST(ReadTable, survives_random_bytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    TensorDesc row{};
    auto* bytes = reinterpret_cast<unsigned char*>(&row);
    for (std::size_t at = 0; at < sizeof row; ++at)
      bytes[at] = static_cast<unsigned char>(random() % (i % 3 == 0 ? 256 : 3));
    const auto table = read_table(std::span(&row, 1), "input", i % 2 == 0 ? Strides::read : Strides::ignored);
    if (!table) continue;
    EXPECT_LE(table->at(0).bytes, kTensorBytesMax);
    EXPECT_EQ(row_of(table->at(0)).bytes, table->at(0).bytes);
  }
}

TEST(Difference, names_the_first_mismatch) {
  const Tensor expected{.name = "", .kind = Kind::tensor, .dtype = Dtype::float32, .shape = {2, 3}};
  Tensor got = expected;
  EXPECT_EQ(difference(expected, got).reason, "");
  got.shape = {3, 2};
  EXPECT_EQ(difference(expected, got).reason, "shape");
  EXPECT_EQ(difference(expected, got).message, "is float32[3, 2], must be float32[2, 3]");
  got.dtype = Dtype::float16;
  EXPECT_EQ(difference(expected, got).reason, "dtype");
  got = expected;
  got.strides = {1, 2};
  EXPECT_EQ(difference(expected, got).message, "is float32[2, 3] by strides [1, 2], must be float32[2, 3]");
  got = Tensor{.name = "", .kind = Kind::real};
  EXPECT_EQ(difference(expected, got).message, "is real, must be float32[2, 3]");
}

TEST(Tolerances, hostile_ones_are_refused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Tensor> outputs(1);
  for (const channel::ToleranceDesc& row : {channel::ToleranceDesc{2, 0, 1}, channel::ToleranceDesc{0, nan, 1},
                                            channel::ToleranceDesc{0, 0, 2}, channel::ToleranceDesc{0, 0, nan}})
    EXPECT_FALSE(read_tolerances(std::span(&row, 1), outputs));
  const channel::ToleranceDesc none{0, 0, 0};
  EXPECT_TRUE(read_tolerances(std::span(&none, 1), outputs));
  EXPECT_FALSE(outputs[0].tolerance);
  const channel::ToleranceDesc some{-1, 0.5, 0.9};
  EXPECT_TRUE(read_tolerances(std::span(&some, 1), outputs));
  EXPECT_FALSE(outputs[0].tolerance->rtol);
  EXPECT_EQ(outputs[0].tolerance->atol, 0.5);
}

}  // namespace
}  // namespace kq::judge
