#include "gpu_worker/judge/trial/constant_outputs.h"

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

class ConstantOutputsTest : public testing::Test {
 protected:
  void SetUp() override {
    fake_ = std::make_unique<FakeChild>(fake_reference());
    auto side =
        ReferenceSide::open(*fixture_.device, fake_->take_socket(), fixture_.exits, WaitMode::sleep, fixture_.plan);
    ASSERT_TRUE(side && (*side)->load(fixture_.plan, 42));
    reference_ = std::move(*side);
  }
  // Makes a trial, or keeps the one before, and observes it with a submission's outputs that are all `word`.
  void observe(std::uint32_t word, bool is_new) {
    if (is_new) {
      ASSERT_TRUE(reference_->make_trial(fixture_.plan, {++seed_, 1}));
    }
    const std::uint64_t bytes = reference_->layout().outputs.bytes();
    auto got = fixture_.device->make_private(bytes);
    ASSERT_TRUE(got && fixture_.device->fill(**got, 0, bytes, word));
    ASSERT_TRUE(constants_.observe(*fixture_.device, *reference_, **got, {}));
  }

  JudgeFixture fixture_;
  std::unique_ptr<FakeChild> fake_;
  std::unique_ptr<ReferenceSide> reference_;
  std::uint64_t seed_ = 0;
  ConstantOutputs constants_;
};

TEST_F(ConstantOutputsTest, the_same_outputs_for_others_of_the_reference_are_a_constant) {
  for (std::size_t i = 0; i < kConstantTrialsMin; ++i) {
    EXPECT_FALSE(constants_.is_constant());
    observe(7, true);
  }
  EXPECT_TRUE(constants_.is_constant());
  observe(8, true);
  EXPECT_FALSE(constants_.is_constant());
}

TEST_F(ConstantOutputsTest, a_reference_that_rarely_changes_proves_nothing) {
  for (int i = 0; i < 8; ++i) observe(7, i == 0 || i == 4);
  EXPECT_FALSE(constants_.is_constant());
}

}  // namespace
}  // namespace kq::judge
