#include "gpu_worker/judge/device/cuda_spin_kernel.h"

#include <optional>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/testing/fake_driver.h"

namespace kq::judge::cuda {
namespace {

class SpinKernelTest : public testing::Test {
 protected:
  SpinKernelTest() {
    fake::gpu = fake::FakeGpu();
    EXPECT_TRUE(kernels_.load(driver_));
    spin_.emplace(driver_, kernels_);
    EXPECT_TRUE(spin_->open(1 << 20));
    fake::gpu.launched.clear();
  }

  Driver driver_ = fake::fake_driver();
  Kernels kernels_;
  std::optional<SpinKernel> spin_;
};

TEST_F(SpinKernelTest, waits_for_a_random_time) {
  std::set<std::int64_t> waits;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(spin_->close_gate());
    EXPECT_TRUE(spin_->is_gate_closed());
    const std::int64_t start_ns = clock_ns();
    ASSERT_TRUE(spin_->start_spin());
    waits.insert((clock_ns() - start_ns) / 1'000);
    EXPECT_FALSE(spin_->is_gate_closed());
    spin_->stop_spin();
  }
  EXPECT_GE(*waits.begin(), 20);
  EXPECT_GE(waits.size(), 5u);
}

TEST_F(SpinKernelTest, the_occupancy_gap_is_complete_after_settle) {
  fake::gpu.spin_gap_ns = 70'000'000'000;  // far above the time that the host takes here
  ASSERT_TRUE(spin_->close_gate());
  ASSERT_TRUE(spin_->start_spin());
  spin_->stop_spin();
  fake::gpu.spin_gap_ns = 500'000'000'000;
  ASSERT_TRUE(spin_->probe());
  ASSERT_TRUE(spin_->settle());
  EXPECT_GE(spin_->occupancy_gap_ns(), 570'000'000'000);
  EXPECT_LT(spin_->occupancy_gap_ns(), 600'000'000'000);
}

TEST_F(SpinKernelTest, copying_is_no_occupancy_gap) {
  constexpr std::int64_t kCopyingNs = 18'000'000'000;  // far above the time that the host takes here
  ASSERT_TRUE(spin_->close_gate());
  ASSERT_TRUE(spin_->start_spin());
  spin_->stop_spin();
  ASSERT_TRUE(spin_->probe());
  fake::gpu.now_ns += kCopyingNs;
  ASSERT_TRUE(spin_->settle());
  EXPECT_GE(spin_->occupancy_gap_ns(), kCopyingNs);
  ASSERT_TRUE(spin_->probe());
  fake::gpu.now_ns += kCopyingNs;
  spin_->note_copied(9'000ull << 30);
  ASSERT_TRUE(spin_->settle());
  EXPECT_LT(spin_->occupancy_gap_ns(), kCopyingNs / 2);
  ASSERT_TRUE(spin_->probe());
  fake::gpu.now_ns += kCopyingNs;
  for (int i = 0; i < 6'000'000; ++i) spin_->note_copied(1);  // a fixed time is allowed for each copy
  ASSERT_TRUE(spin_->settle());
  EXPECT_LT(spin_->occupancy_gap_ns(), kCopyingNs / 2);
}

TEST_F(SpinKernelTest, after_long_copies_the_spin_has_a_time_slice_of_its_own) {
  for (const std::uint64_t copied : {1ull << 20, 8ull << 30}) {
    ASSERT_TRUE(spin_->close_gate());
    spin_->note_copied(copied);
    fake::gpu.failing = "synchronize";
    EXPECT_EQ(spin_->start_spin().has_value(), copied < 1ull << 30) << copied;
    fake::gpu.failing.clear();
    spin_->stop_spin();
  }
}

TEST_F(SpinKernelTest, slow_memory_is_seen_in_the_time_of_the_flush) {
  const auto run_once = [&](std::uint64_t copied) {
    ASSERT_TRUE(spin_->close_gate());
    spin_->note_copied(copied);
    ASSERT_TRUE(spin_->start_spin());
    spin_->stop_spin();
    ASSERT_TRUE(spin_->probe());
    ASSERT_TRUE(spin_->settle());
  };
  for (std::size_t i = 0; i < kSamplesMin; ++i) run_once(0);
  EXPECT_EQ(spin_->memory_slowness(), 1);
  fake::gpu.fill_ns += 3'000;
  run_once(0);
  EXPECT_GT(spin_->memory_slowness(), 1.1);
  run_once(8ull << 30);
  EXPECT_EQ(spin_->memory_slowness(), 1) << "after long copies the flush is not measured";
  const std::int64_t start_ns = clock_ns();
  ASSERT_TRUE(spin_->await_quick_memory(20'000'000));
  EXPECT_GE(clock_ns() - start_ns, 20'000'000) << "the memory stays slow";
  fake::gpu.fill_ns -= 3'000;
  ASSERT_TRUE(spin_->await_quick_memory(60'000'000'000));
}

TEST_F(SpinKernelTest, a_sequence_can_be_given_up_before_the_spin) {
  ASSERT_TRUE(spin_->close_gate());
  spin_->stop_spin();
  EXPECT_FALSE(spin_->is_gate_closed());
}

TEST_F(SpinKernelTest, a_failing_launch_is_an_error) {
  fake::gpu.failing = "launch";
  EXPECT_EQ(spin_->close_gate().error().message, "cuLaunchKernel of kq_spin: fake error (700)");
}

}  // namespace
}  // namespace kq::judge::cuda
