#include "gpu_worker/judge/timing/calibration.h"

#include <unistd.h>

#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/testing/fake_child.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"

namespace kq::judge {
namespace {

constexpr std::int64_t kLimitMs = 60'000;

class CalibratorTest : public testing::Test {
 protected:
  Step<Overhead> run(FakeChild::Script script) {
    FakeChild fake(std::move(script));
    auto calibrator = Calibrator::open(*device_, fake.take_socket(), exits_, WaitMode::sleep);
    if (!calibrator) return tl::unexpected(calibrator.error());
    return (*calibrator)->calibrate(1 << 20, kLimitMs);
  }

  std::unique_ptr<Device> device_ = std::move(*open_cpu_device());
  FakeExits exits_;
};

TEST_F(CalibratorTest, the_overhead_is_the_median_of_null_calls) {
  constexpr useconds_t kLongUs = 500'000;
  int calls = 0;
  const auto overhead = run([&](FakeTurn& turn) {
    if (turn.command != channel::Command::null_call) return;
    ++calls;
    ::usleep(calls == 3 ? kLongUs : 500);  // one long call does not move the median
  });
  ASSERT_TRUE(overhead);
  EXPECT_EQ(calls, kNullCalls);
  EXPECT_GE(overhead->median_ns, 500'000);
  EXPECT_LT(overhead->median_ns, kLongUs * 1e3);
}

TEST_F(CalibratorTest, a_calibration_is_reused_for_the_same_number_of_bytes) {
  int calls = 0;
  FakeChild fake([&](FakeTurn& turn) { calls += turn.command == channel::Command::null_call ? 1 : 0; });
  auto calibrator = Calibrator::open(*device_, fake.take_socket(), exits_, WaitMode::sleep);
  ASSERT_TRUE(calibrator);
  const std::int64_t start_ns = clock_ns();
  const auto first = (*calibrator)->reuse_or_calibrate(1 << 20, kLimitMs);
  const auto again = (*calibrator)->reuse_or_calibrate(1 << 20, kLimitMs);
  ASSERT_TRUE(first && again);
  const bool is_reusable = clock_ns() - start_ns < kCalibrationAgeMaxNs;  // false on a very slow host
  if (is_reusable) {
    EXPECT_EQ(calls, kNullCalls);
    EXPECT_EQ(first->median_ns, again->median_ns);
  }
  calls = 0;
  ASSERT_TRUE((*calibrator)->reuse_or_calibrate(1 << 10, kLimitMs));
  EXPECT_EQ(calls, kNullCalls);
  ASSERT_TRUE((*calibrator)->calibrate(1 << 10, kLimitMs));
  EXPECT_EQ(calls, 2 * kNullCalls);
}

TEST(MedianWithoutOutliers, is_the_median_of_the_majority_that_lies_together) {
  EXPECT_EQ(median_without_outliers_ns(std::vector<std::int64_t>{440'000, 441'000, 442'000, 600'000, 690'000}),
            441'000);
  EXPECT_EQ(median_without_outliers_ns(std::vector<std::int64_t>{300'000, 440'000, 441'000, 442'000, 470'000}), 441'000)
      << "an interval that is too short is an outlier, too";
  EXPECT_EQ(median_without_outliers_ns(std::vector<std::int64_t>{440'000, 441'000, 600'000, 601'000, 700'000}),
            std::nullopt);
  EXPECT_EQ(median_without_outliers_ns(std::vector<std::int64_t>{440'000, 460'000}), std::nullopt);
}

TEST(CommonOverhead, is_the_mean_of_those_that_agree_with_the_middle_one) {
  EXPECT_EQ(common_overhead_ns({298'000, 301'000, 304'000}), 301'000);
  EXPECT_EQ(common_overhead_ns({298'000, 322'000, 300'000}), 299'000) << "one calibration had outliers only";
  EXPECT_EQ(common_overhead_ns({340'000, 300'000, 320'000}), 320'000);
}

// A warm-up scatters the null calls of some calibrations. The warm-up ends only when all repetitions without waiting
// have been made.
TEST_F(CalibratorTest, scattered_null_calls_are_repeated_and_at_last_without_the_warm_up) {
  constexpr std::int64_t kWaitMaxNs = 60'000'000'000;
  constexpr unsigned kStepUs = 20'000;
  for (const int calibrations_scattered : {1, kRecalibrationsMax + 1}) {
    channel::WarmUpPage control = *channel::WarmUpPage::make();
    ConcurrentWarmUps warm_ups(*channel::WarmUpPage::map(sys::Fd(::dup(control.fd()))), kWaitMaxNs);
    device_->set_concurrent_warm_ups(&warm_ups);
    control.set_running(0, true);
    const std::int64_t start_ns = clock_ns();
    int calls = 0;
    const auto overhead = run([&](FakeTurn& turn) {
      if (turn.command != channel::Command::null_call) return;
      ++calls;
      const int nth = (calls - 1) % kNullCalls;
      ::usleep(calls <= calibrations_scattered * kNullCalls ? static_cast<unsigned>(nth + 1) * kStepUs : 500);
      if (calls == (kRecalibrationsMax + 1) * kNullCalls) control.set_running(0, false);
    });
    ASSERT_TRUE(overhead);
    EXPECT_GE(calls, (calibrations_scattered + 1) * kNullCalls) << "a noisy host may need more";
    EXPECT_LT(clock_ns() - start_ns, kWaitMaxNs) << "the judge does not wait for the whole limit";
    constexpr int kMajority = (kNullCalls + 1) / 2;
    EXPECT_LT(overhead->median_ns, kMajority * kStepUs * 1e3) << "the least median of scattered calls";
    device_->set_concurrent_warm_ups(nullptr);
  }
}

TEST_F(CalibratorTest, a_calibrator_that_fails_is_our_fault) {
  const auto overhead = run([](FakeTurn& turn) { turn.fail(channel::Failure::gpu_fault, "no CUDA"); });
  ASSERT_FALSE(overhead);
  EXPECT_EQ(std::get<Error>(overhead.error()).message, "a fresh calibrator child could not be set up: no CUDA");
}

TEST(OverheadWithinCalls, is_what_the_calls_show_where_that_is_much_less) {
  const std::vector<std::int64_t> intervals = {100'000, 104'000, 3'000'000, 96'000, 102'000};
  const std::vector<std::int64_t> events = {60'000, 62'000, 2'900'000, 60'000, 60'000};
  EXPECT_EQ(overhead_within_calls_ns(108'000, intervals, events), 42'000);
  EXPECT_EQ(overhead_within_calls_ns(49'000, intervals, events), 49'000);  // within the error of a calibration
  EXPECT_EQ(overhead_within_calls_ns(20'000, intervals, events), 20'000);
}

TEST(OverheadWithinCalls, is_the_calibrated_one_where_the_calls_prove_nothing) {
  const std::vector<std::int64_t> intervals = {100'000, 104'000};
  EXPECT_EQ(overhead_within_calls_ns(108'000, intervals, std::vector<std::int64_t>{60'000, 0}), 108'000);
  EXPECT_EQ(overhead_within_calls_ns(108'000, intervals, std::vector<std::int64_t>{60'000}), 108'000);
  EXPECT_EQ(overhead_within_calls_ns(108'000, {}, {}), 108'000);
}

}  // namespace
}  // namespace kq::judge
