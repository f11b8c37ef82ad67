#include "gpu_worker/judge/check/input_change.h"

#include <memory>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

constexpr std::uint64_t kBytes = 64 << 10;

class FreshnessTest : public testing::Test {
 protected:
  static Tensor tensor(std::uint64_t offset, std::uint64_t bytes) {
    Tensor tensor{};
    tensor.kind = channel::Kind::tensor;
    tensor.offset = offset;
    tensor.bytes = bytes;
    return tensor;
  }
  void look(std::uint32_t first, std::uint32_t second) {
    ASSERT_TRUE(device_.fill(*memory_, 0, kBytes, first));
    ASSERT_TRUE(device_.fill(*memory_, kBytes, kBytes, second));
    ASSERT_TRUE(freshness_.look(device_, Pristine(*memory_, {0, 2 * kBytes}), inputs_));
  }

  FakeDevice device_;
  std::unique_ptr<Memory> memory_ = std::move(*device_.make_private(2 * kBytes));
  std::vector<Tensor> inputs_{tensor(0, kBytes), tensor(kBytes, kBytes)};
  Freshness freshness_;
};

TEST_F(FreshnessTest, one_trial_tells_nothing) {
  EXPECT_FALSE(freshness_.are_stale());
  look(1, 2);
  EXPECT_FALSE(freshness_.are_stale());
}

TEST_F(FreshnessTest, one_tensor_that_changes_once_is_enough) {
  look(1, 2);
  look(1, 2);
  EXPECT_TRUE(freshness_.are_stale());
  look(1, 3);
  EXPECT_FALSE(freshness_.are_stale());
  look(1, 3);
  EXPECT_FALSE(freshness_.are_stale());
}

TEST_F(FreshnessTest, what_lies_between_tensors_is_none_of_them) {
  inputs_ = {tensor(256, kBytes - 512)};
  look(1, 2);
  look(1, 3);
  EXPECT_TRUE(freshness_.are_stale());
}

TEST_F(FreshnessTest, without_tensors_nothing_is_fresh) {
  inputs_.clear();
  look(1, 2);
  look(3, 4);
  EXPECT_TRUE(freshness_.are_stale());
}

TEST(Freshness, a_time_on_the_same_inputs_again_and_again_is_suspect) {
  FakeHouse house;
  constexpr std::uint64_t kSeed = 7;  // that the problem sets itself
  const auto same = [w = 0.0f](FakeTurn& turn) mutable {
    using channel::Command;
    if (turn.command == Command::put_state) w = *fake_data<float>(turn, turn.page.states[0]);
    if (turn.command == Command::make_inputs) fake_draw(turn, kSeed, std::nullopt);
    if (turn.command != Command::answer) return;
    char* const window = turn.window;
    for (std::size_t i = 0; i < fake_answer_seeds(turn).size(); ++i) {
      fake_draw(turn, kSeed, std::nullopt);
      fake_call(turn, w);
      turn.window += turn.page.slot_bytes;
    }
    turn.window = window;
  };
  EXPECT_EQ(ending(house.run({}, [](FakeTurn&) {})), "passed");
  EXPECT_EQ(ending(house.run({}, same)), "suspect/inputs at judge");
  house.plan.trials.timed = 0;
  EXPECT_EQ(ending(house.run({}, same)), "passed");
}

}  // namespace
}  // namespace kq::judge
