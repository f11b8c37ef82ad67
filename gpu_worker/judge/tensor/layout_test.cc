#include "gpu_worker/judge/tensor/layout.h"

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

using channel::Dtype;
using channel::Kind;

Tensor bytes_of(std::int64_t n) {
  return {
      .name = "", .kind = Kind::tensor, .dtype = Dtype::uint8, .shape = {n}, .bytes = static_cast<std::uint64_t>(n)};
}

Tables some_tables() {
  return {.inputs = {bytes_of(1), bytes_of(256), Tensor{.name = "n", .kind = Kind::integer}},
          .outputs = {bytes_of(257)},
          .states = {bytes_of(0)}};
}

TEST(Layout, puts_inputs_states_and_outputs_one_after_another) {
  const Layout layout = make_layout(some_tables());
  EXPECT_EQ(layout.tables.inputs[0].offset, 256u);
  EXPECT_EQ(layout.tables.inputs[1].offset, 768u);
  EXPECT_EQ(layout.inputs, (Region{0, 1536}));
  EXPECT_EQ(layout.states, (Region{1536, 2048}));
  EXPECT_EQ(layout.tables.outputs[0].offset, 2304u);
  EXPECT_EQ(layout.outputs, (Region{2048, 3072}));
  EXPECT_EQ(layout.bytes(), 3072u);
}

TEST(Layout, leaves_a_gap_around_every_tensor) {
  const Layout layout = make_layout(some_tables());
  EXPECT_EQ(gaps(layout.inputs, layout.tables.inputs),
            (std::vector<Region>{{0, 256}, {257, 768}, {1024, 1280}, {1280, 1536}}));
  EXPECT_EQ(gaps(layout.outputs, layout.tables.outputs), (std::vector<Region>{{2048, 2304}, {2561, 3072}}));
}

TEST(Layout, of_nothing_is_small) {
  const Layout layout = make_layout({});
  EXPECT_EQ(layout.bytes(), 3 * channel::kAlign);
}

TEST(Layout, of_the_largest_tables_does_not_overflow) {
  Tables tables;
  tables.states.assign(channel::kStatesMax, bytes_of(static_cast<std::int64_t>(kTensorBytesMax)));
  EXPECT_GT(make_layout(std::move(tables)).bytes(), kTensorBytesMax * (channel::kStatesMax - 1));
}

TEST(Layout, fits_the_same_tables_whatever_the_plain_values) {
  const Layout layout = make_layout(some_tables());
  Tables tables = some_tables();
  tables.inputs[2].integer = 9;
  EXPECT_TRUE(fits(layout, tables));
  tables.states.push_back(bytes_of(1));
  EXPECT_FALSE(fits(layout, tables));
  tables = some_tables();
  tables.outputs[0].shape = {256};
  EXPECT_FALSE(fits(layout, tables));
}

TEST(FormatBytes, has_a_unit_and_one_decimal) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(12ull << 30), "12.0 GiB");
}

}  // namespace
}  // namespace kq::judge
