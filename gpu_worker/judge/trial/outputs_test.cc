#include "gpu_worker/judge/trial/outputs.h"

#include <cstring>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"

namespace kq::judge {
namespace {

Tensor words(std::int64_t n) {
  return {.name = "y",
          .kind = channel::Kind::tensor,
          .dtype = channel::Dtype::int32,
          .shape = {n},
          .bytes = static_cast<std::uint64_t>(n) * 4};
}

constexpr std::uint64_t kArenaBegin = 4096;  // a whole number of pages

class OutputsTest : public testing::Test {
 protected:
  static std::int32_t& at(const Memory& memory, std::uint64_t offset) {
    return *reinterpret_cast<std::int32_t*>(memory.address() + offset);
  }
  Tensor in_arena(std::int64_t n, std::uint64_t offset) {
    Tensor tensor = words(n);
    tensor.place = channel::Place::arena;
    tensor.offset = offset;
    return tensor;
  }
  Expected<void> take(const std::vector<Tensor>& got) {
    return take_outputs(*device_, layout_, {.window = *window_, .arena = arena()}, got, *taken_);
  }
  Arena arena() const { return {arena_.get(), kArenaBegin}; }
  std::uint64_t offset(std::size_t i) const { return layout_.tables.outputs[i].offset - layout_.outputs.begin; }

  std::unique_ptr<FakeDevice> device_ = std::make_unique<FakeDevice>();
  Layout layout_ = make_layout({.inputs = {}, .outputs = {words(1), words(4)}});
  std::unique_ptr<Memory> window_ = std::move(*device_->make_window(layout_.bytes()));
  std::unique_ptr<Memory> arena_ = std::move(*device_->make_window(kArenaBegin + 4096));
  std::unique_ptr<Memory> taken_ = std::move(*device_->make_private(layout_.outputs.bytes()));
};

TEST_F(OutputsTest, outputs_are_copied_from_the_window_and_the_arena) {
  at(*window_, layout_.tables.outputs[0].offset) = 7;
  at(*window_, layout_.tables.outputs[1].offset) = 8;
  at(*arena_, kArenaBegin + 1024) = 9;
  ASSERT_TRUE(take({words(1), in_arena(4, 1024)}));
  EXPECT_EQ(at(*taken_, offset(0)), 7);
  EXPECT_EQ(at(*taken_, offset(1)), 9);
}

// Large outputs in the arena are not copied from the window, but the bytes beside them are, to the last byte.
TEST_F(OutputsTest, large_outputs_are_copied_once) {
  constexpr std::int64_t kLarge = 1 << 20;
  layout_ = make_layout({.inputs = {}, .outputs = {words(kLarge), words(kLarge), words(3), words(kLarge)}});
  window_ = std::move(*device_->make_window(layout_.bytes()));
  arena_ = std::move(*device_->make_window(kArenaBegin + 4 * kLarge * 4));
  taken_ = std::move(*device_->make_private(layout_.outputs.bytes()));
  ASSERT_TRUE(device_->fill(*window_, layout_.outputs.begin, layout_.outputs.bytes(), 1));
  ASSERT_TRUE(device_->fill(*arena_, 0, arena_->bytes(), 2));
  ASSERT_TRUE(device_->fill(*taken_, 0, layout_.outputs.bytes(), 3));
  for (const bool first : {false, true}) {
    for (const bool last : {false, true}) {
      ASSERT_TRUE(take({first ? in_arena(kLarge, 64) : words(kLarge), in_arena(kLarge, kLarge * 4), words(3),
                        last ? in_arena(kLarge, 128) : words(kLarge)}));
      EXPECT_EQ(device_->copied_bytes, layout_.outputs.bytes());
      device_->copied_bytes = 0;
      const std::vector<bool> are_in_arena{first, true, false, last};
      std::uint64_t at_byte = 0;
      for (std::size_t i = 0; i < are_in_arena.size(); ++i) {
        const std::uint64_t end = offset(i) + layout_.tables.outputs[i].bytes;
        for (; at_byte < offset(i); at_byte += 4) ASSERT_EQ(at(*taken_, at_byte), 1) << at_byte;
        for (; at_byte < end; at_byte += 4) ASSERT_EQ(at(*taken_, at_byte), are_in_arena[i] ? 2 : 1) << at_byte;
      }
      for (; at_byte < layout_.outputs.bytes(); at_byte += 4) ASSERT_EQ(at(*taken_, at_byte), 1) << at_byte;
    }
  }
}

TEST_F(OutputsTest, impossible_places_are_ignored) {
  for (const std::uint64_t bad :
       {std::uint64_t{4096}, std::uint64_t{4084}, ~std::uint64_t{0}, std::uint64_t{1} << 60}) {
    EXPECT_FALSE(are_in_bounds(std::vector{in_arena(4, bad)}, arena())) << bad;
    EXPECT_TRUE(take({words(1), in_arena(4, bad)}));
  }
  EXPECT_TRUE(are_in_bounds(std::vector{in_arena(4, 4080), words(9)}, arena()));
  EXPECT_FALSE(are_in_bounds(std::vector{in_arena(4, 0)}, Arena()));
  EXPECT_TRUE(take({in_arena(1000, 0), words(4), words(4)})) << "another size or number than the layout's";
}

TEST_F(OutputsTest, contiguous_outputs_are_viewed_in_place) {
  const auto found_at = [&](const Layout& layout, const std::vector<Tensor>& got) {
    const auto found = outputs_in_place(layout, {.window = *window_, .shift = 256, .arena = arena()}, got);
    return found == nullptr ? nullptr : &at(*found, layout.tables.outputs[0].offset - layout.outputs.begin);
  };
  EXPECT_EQ(found_at(layout_, {words(1), words(4)}), &at(*window_, 256 + layout_.tables.outputs[0].offset));
  EXPECT_EQ(found_at(layout_, {words(1), in_arena(4, 0)}), nullptr) << "two of them";
  const Layout one = make_layout({.inputs = {}, .outputs = {words(4)}});
  window_ = std::move(*device_->make_window(256 + one.bytes()));
  EXPECT_EQ(found_at(one, {in_arena(4, 1024)}), &at(*arena_, kArenaBegin + 1024));
  EXPECT_EQ(found_at(one, {in_arena(5, 1024)}), nullptr) << "another size";
  EXPECT_EQ(found_at(one, {in_arena(4, 1025)}), nullptr) << "where no number can begin";
  const Tensor plain{.kind = channel::Kind::integer};
  Tensor plain_in_arena = plain;
  plain_in_arena.place = channel::Place::arena;
  EXPECT_EQ(found_at(make_layout({.inputs = {}, .outputs = {plain}}), {plain_in_arena}), nullptr) << "no tensor";
  EXPECT_EQ(found_at(one, {in_arena(4, 4080)}), nullptr) << "less behind it than a window has";
  EXPECT_EQ(found_at(one, {in_arena(4, 1 << 20)}), nullptr) << "not in the arena";
}

// A device writes whole words, and must not write beyond the output.
TEST_F(OutputsTest, regions_in_the_arena_are_whole_words) {
  const auto at_offset = [&](std::uint64_t offset, std::uint64_t bytes) {
    Tensor tensor = in_arena(1, offset);
    tensor.bytes = bytes;
    return tensor;
  };
  EXPECT_TRUE(regions_in_arena({}).empty());
  EXPECT_TRUE(regions_in_arena(std::vector{words(4), words(5)}).empty());
  EXPECT_EQ(regions_in_arena(std::vector{words(4), in_arena(4, 1024), in_arena(2, 0)}),
            (std::vector<Region>{{1024, 1040}, {0, 8}}));
  EXPECT_EQ(regions_in_arena(std::vector{at_offset(3, 10), at_offset(4, 7)}), (std::vector<Region>{{4, 12}, {4, 8}}));
  EXPECT_TRUE(regions_in_arena(std::vector{at_offset(1, 6), at_offset(5, 2), at_offset(8, 0)}).empty())
      << "no whole word is theirs";
}

TEST_F(OutputsTest, an_arena_has_room_for_more_than_the_outputs) {
  EXPECT_GT(arena_bytes(layout_, 80ull << 30), 3 * layout_.outputs.bytes());
}

TEST_F(OutputsTest, an_output_in_a_process_that_is_not_known_is_out_of_bounds) {
  Tensor output = words(4);
  output.place = channel::Place::process;
  output.offset = window_->address();
  at(*window_, layout_.tables.outputs[1].offset) = 8;
  ASSERT_TRUE(take({words(1), output}));
  EXPECT_EQ(at(*taken_, offset(1)), 8) << "it is not read at the address";
  EXPECT_FALSE(are_in_bounds(std::span(&output, 1), arena()));
}

TEST(Outputs, a_problem_that_fills_the_device_has_no_arena) {
  Layout layout;
  layout.inputs = {0, 6ull << 30};
  layout.outputs = {6ull << 30, 12ull << 30};
  EXPECT_EQ(arena_bytes(layout, 80ull << 30), 0u);
  EXPECT_GT(arena_bytes(layout, 140ull << 30), 18ull << 30);
}

}  // namespace
}  // namespace kq::judge
