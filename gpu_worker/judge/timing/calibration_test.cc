#include "gpu_worker/judge/timing/calibration.h"

#include <unistd.h>

#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/testing/fake_child.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"

namespace kq::judge {
namespace {

class CalibratorTest : public testing::Test {
 protected:
  Step<Overhead> run(FakeChild::Script script) {
    FakeChild fake(std::move(script));
    auto calibrator = Calibrator::open(*device_, fake.take_socket(), exits_, Waiting::sleep);
    if (!calibrator) return tl::unexpected(calibrator.error());
    return (*calibrator)->calibrate(1 << 20, 5'000);
  }

  std::unique_ptr<Device> device_ = std::move(*open_cpu_device());
  FakeExits exits_;
};

TEST_F(CalibratorTest, the_overhead_is_the_median_of_null_calls) {
  int calls = 0;
  const auto overhead = run([&](FakeTurn& turn) {
    if (turn.command != channel::Command::null_call) return;
    ++calls;
    ::usleep(calls == 3 ? 50'000 : 500);  // one disturbed call does not move it
  });
  ASSERT_TRUE(overhead);
  EXPECT_EQ(calls, kNullCalls);
  EXPECT_GE(overhead->median_ns, 500'000);
  EXPECT_LT(overhead->median_ns, 40'000'000);
}

TEST_F(CalibratorTest, the_last_one_is_recalled_where_it_was_one_of_the_same) {
  int calls = 0;
  FakeChild fake([&](FakeTurn& turn) { calls += turn.command == channel::Command::null_call ? 1 : 0; });
  auto calibrator = Calibrator::open(*device_, fake.take_socket(), exits_, Waiting::sleep);
  ASSERT_TRUE(calibrator);
  const auto first = (*calibrator)->recall(1 << 20, 5'000);
  const auto again = (*calibrator)->recall(1 << 20, 5'000);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(calls, kNullCalls);
  EXPECT_EQ(first->median_ns, again->median_ns);
  ASSERT_TRUE((*calibrator)->recall(1 << 10, 5'000));
  EXPECT_EQ(calls, 2 * kNullCalls);
  ASSERT_TRUE((*calibrator)->calibrate(1 << 10, 5'000));
  EXPECT_EQ(calls, 3 * kNullCalls);
}

TEST(UndisturbedMedian, is_that_of_the_most_that_lie_together) {
  EXPECT_EQ(undisturbed_median_ns(std::vector<std::int64_t>{440'000, 441'000, 442'000, 600'000, 690'000}), 441'000);
  EXPECT_EQ(undisturbed_median_ns(std::vector<std::int64_t>{300'000, 440'000, 441'000, 442'000, 470'000}), 441'000)
      << "one that is too short, too";
  EXPECT_EQ(undisturbed_median_ns(std::vector<std::int64_t>{440'000, 441'000, 600'000, 601'000, 700'000}),
            std::nullopt);
  EXPECT_EQ(undisturbed_median_ns(std::vector<std::int64_t>{440'000, 460'000}), std::nullopt);
}

TEST(CommonOverhead, is_the_mean_of_those_that_agree_with_the_middle_one) {
  EXPECT_EQ(common_overhead_ns({298'000, 301'000, 304'000}), 301'000);
  EXPECT_EQ(common_overhead_ns({298'000, 322'000, 300'000}), 299'000)
      << "one was disturbed from its first call to its last";
  EXPECT_EQ(common_overhead_ns({340'000, 300'000, 320'000}), 320'000);
}

// Calls beside a child of ours that makes its context and disturbs so many calibrations, then no more; he goes only
// when there is no use in trying.
TEST_F(CalibratorTest, null_calls_that_lie_nowhere_together_are_made_again_and_in_the_quiet_in_the_end) {
  constexpr std::int64_t kPatienceNs = 20'000'000'000;
  for (const int disturbed : {1, kCalibratedAgainMax + 1}) {
    channel::WarmUpPage control = *channel::WarmUpPage::make();
    Bystanders bystanders(*channel::WarmUpPage::map(sys::Fd(::dup(control.fd()))), kPatienceNs);
    device_->set_bystanders(&bystanders);
    control.set_running(0, true);
    const std::int64_t start_ns = clock_ns();
    int calls = 0;
    const auto overhead = run([&](FakeTurn& turn) {
      if (turn.command != channel::Command::null_call) return;
      ++calls;
      const int nth = (calls - 1) % kNullCalls;
      ::usleep(calls <= disturbed * kNullCalls ? static_cast<unsigned>(nth + 1) * 5'000 : 500);
      if (calls == (kCalibratedAgainMax + 1) * kNullCalls) control.set_running(0, false);
    });
    ASSERT_TRUE(overhead);
    EXPECT_GE(calls, (disturbed + 1) * kNullCalls) << "more where the host's noise is as large";
    EXPECT_LT(clock_ns() - start_ns, kPatienceNs) << "he is not waited for";
    EXPECT_LT(overhead->median_ns, 5'000'000);
    device_->set_bystanders(nullptr);
  }
}

TEST_F(CalibratorTest, one_that_fails_is_our_fault) {
  const auto overhead = run([](FakeTurn& turn) { turn.fail(channel::Failure::gpu_fault, "no CUDA"); });
  ASSERT_FALSE(overhead);
  EXPECT_EQ(std::get<Error>(overhead.error()).message, "a fresh calibrator child could not be set up: no CUDA");
}

}  // namespace
}  // namespace kq::judge
