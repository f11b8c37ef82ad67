#include "gpu_worker/judge/check/value_change.h"

#include <memory>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

constexpr std::uint64_t kBytes = 64 << 10;

class ValueChangeTest : public testing::Test {
 protected:
  static Tensor tensor(std::uint64_t offset, std::uint64_t bytes) {
    Tensor tensor{};
    tensor.kind = channel::Kind::tensor;
    tensor.offset = offset;
    tensor.bytes = bytes;
    return tensor;
  }
  void observe(std::uint32_t first, std::uint32_t second) {
    ASSERT_TRUE(device_.fill(*memory_, 0, kBytes, first));
    ASSERT_TRUE(device_.fill(*memory_, kBytes, kBytes, second));
    ASSERT_TRUE(inputs_change_.observe(device_, InputCopies(*memory_, {0, 2 * kBytes}), inputs_));
  }

  FakeDevice device_;
  std::unique_ptr<Memory> memory_ = std::move(*device_.make_private(2 * kBytes));
  std::vector<Tensor> inputs_{tensor(0, kBytes), tensor(kBytes, kBytes)};
  ValueChange inputs_change_;
};

TEST_F(ValueChangeTest, one_trial_is_not_enough) {
  EXPECT_FALSE(inputs_change_.never_changed());
  observe(1, 2);
  EXPECT_FALSE(inputs_change_.never_changed());
}

TEST_F(ValueChangeTest, one_change_of_one_tensor_is_enough) {
  observe(1, 2);
  observe(1, 2);
  EXPECT_TRUE(inputs_change_.never_changed());
  observe(1, 3);
  EXPECT_FALSE(inputs_change_.never_changed());
  observe(1, 3);
  EXPECT_FALSE(inputs_change_.never_changed());
}

TEST_F(ValueChangeTest, bytes_between_tensors_are_ignored) {
  inputs_ = {tensor(256, kBytes - 512)};
  observe(1, 2);
  observe(1, 3);
  EXPECT_TRUE(inputs_change_.never_changed());
}

TEST_F(ValueChangeTest, without_tensors_inputs_never_change) {
  inputs_.clear();
  observe(1, 2);
  observe(3, 4);
  EXPECT_TRUE(inputs_change_.never_changed());
}

TEST(ValueChange, a_time_on_unchanged_inputs_is_suspect) {
  JudgeFixture fixture;
  constexpr std::uint64_t kSeed = 7;  // the problem sets this seed itself
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
  EXPECT_EQ(outcome_text(fixture.run({}, [](FakeTurn&) {})), "passed");
  EXPECT_EQ(outcome_text(fixture.run({}, same)), "suspect/inputs at judge");
  fixture.plan.trials.timed = 0;
  EXPECT_EQ(outcome_text(fixture.run({}, same)), "passed");
}

}  // namespace
}  // namespace kq::judge
