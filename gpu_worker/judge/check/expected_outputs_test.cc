#include "gpu_worker/judge/check/expected_outputs.h"

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"

namespace kq::judge {
namespace {

Tensor tensor(std::int64_t elements) {
  return {.name = "",
          .kind = channel::Kind::tensor,
          .dtype = channel::Dtype::float32,
          .shape = {elements},
          .bytes = static_cast<std::uint64_t>(elements) * 4};
}

class ExpectedOutputsTest : public testing::Test {
 protected:
  // Lays out a problem with this many floats as input and as output.
  void lay_out(std::int64_t elements) {
    ASSERT_TRUE(
        trials_.lay_out(make_layout({.inputs = {tensor(elements)}, .outputs = {tensor(elements)}, .states = {}})));
  }

  // Adds a trial ahead that is marked by its seed and by the words in its memory. Returns false where there is no room.
  bool make(std::uint32_t word) {
    const auto room = trials_.free_count();
    EXPECT_TRUE(room);
    if (*room == 0) return false;
    ReferenceTrial& next = trials_.next_free();
    fill_ends(*next.input_copies, word);
    fill_ends(*next.expected, ~word);
    next.seeds.inputs = word;
    trials_.push_ahead();
    return true;
  }
  void fill_ends(const Memory& memory, std::uint32_t word) {
    for (const std::uint64_t at : {std::uint64_t{0}, memory.bytes() - 4})
      EXPECT_TRUE(device_.fill(memory, at, 4, word));
  }
  std::size_t make_all() {
    std::uint32_t made = 0;
    while (made < 1000 && make(made)) ++made;
    return made;
  }
  std::uint32_t word_of(const Memory& memory, std::uint64_t offset) {
    std::uint32_t word = 0;
    EXPECT_TRUE(device_.read(std::as_writable_bytes(std::span(&word, 1)), memory, offset));
    return word;
  }
  void expect_at_hand(std::uint32_t word) {
    const ReferenceTrial& answer = trials_.current();
    EXPECT_EQ(answer.seeds.inputs, word);
    for (const std::uint64_t at : {std::uint64_t{0}, answer.input_copies->bytes() - 4})
      EXPECT_EQ(word_of(*answer.input_copies, at), word);
    for (const std::uint64_t at : {std::uint64_t{0}, answer.expected->bytes() - 4})
      EXPECT_EQ(word_of(*answer.expected, at), ~word);
  }

  FakeDevice device_;
  ExpectedOutputs trials_{device_};
};

TEST_F(ExpectedOutputsTest, trials_ahead_become_current_in_order_and_do_not_overlap) {
  lay_out(100);
  EXPECT_EQ(trials_.next_seeds(), nullptr);
  for (std::uint32_t word = 1; word <= 5; ++word) ASSERT_TRUE(make(word));
  for (std::uint32_t word = 1; word <= 300; ++word) {
    EXPECT_EQ(trials_.ahead_count(), 5u);
    ASSERT_NE(trials_.next_seeds(), nullptr);
    EXPECT_EQ(trials_.next_seeds()->inputs, word);
    trials_.advance();
    ASSERT_TRUE(make(word + 5));  // reuses the memory of an earlier trial
    expect_at_hand(word);
  }
}

TEST_F(ExpectedOutputsTest, trials_lie_in_memory_that_no_child_can_map) {
  lay_out(100);
  ASSERT_TRUE(make(1));
  trials_.advance();
  EXPECT_EQ(trials_.current().input_copies->fd(), -1);
  EXPECT_EQ(trials_.current().expected->fd(), -1);
}

TEST_F(ExpectedOutputsTest, as_many_trials_are_kept_as_the_limits_allow) {
  device_.described.memory_bytes = 1ull << 40;
  lay_out(100);
  EXPECT_EQ(make_all(), kTrialsAheadMax);
  const std::int64_t elements = 1 << 20;
  lay_out(elements);
  const auto some = make_all();
  EXPECT_LE(some * 2 * elements * 4, kTrialsAheadBytesMax);
  EXPECT_GT((some + 2) * 2 * elements * 4, kTrialsAheadBytesMax);
  lay_out(static_cast<std::int64_t>(kTrialsAheadBytesMax / 8));
  EXPECT_EQ(make_all(), 0u);
  device_.described.memory_bytes = kDeviceShareOfAhead * 8'192;
  lay_out(100);
  EXPECT_EQ(make_all(), 8'192 / (2 * 1'024u));
}

TEST_F(ExpectedOutputsTest, fewer_trials_are_kept_where_there_is_no_room) {
  lay_out(100);
  device_.private_bytes_max = 20 * 2'048;
  EXPECT_EQ(make_all(), 16u);
  lay_out(100);
  device_.private_bytes_max = 0;
  EXPECT_EQ(make_all(), 0u);
  EXPECT_FALSE(make(1)) << "it is not tried again";
}

TEST_F(ExpectedOutputsTest, discarded_trials_become_free) {
  lay_out(100);
  const auto all = make_all();
  trials_.advance();
  trials_.discard_ahead();
  EXPECT_EQ(trials_.ahead_count(), 0u);
  EXPECT_EQ(trials_.next_seeds(), nullptr);
  expect_at_hand(0);
  EXPECT_EQ(make_all(), all);
}

TEST_F(ExpectedOutputsTest, a_problem_for_which_there_is_no_room_at_all_is_too_large) {
  device_.private_bytes_max = 4'096;
  const auto laid_out =
      trials_.lay_out(make_layout({.inputs = {tensor(100)}, .outputs = {tensor(10'000)}, .states = {}}));
  ASSERT_FALSE(laid_out);
  EXPECT_EQ(std::get<Ended>(laid_out.error()).name, VerdictName::too_large);
}

}  // namespace
}  // namespace kq::judge
