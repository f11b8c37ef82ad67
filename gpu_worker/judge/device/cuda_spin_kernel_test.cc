#include "gpu_worker/judge/device/cuda_spin_kernel.h"

#include <optional>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/testing/fake_driver.h"

namespace kq::judge::cuda {
namespace {

class HoldTest : public testing::Test {
 protected:
  HoldTest() {
    fake::gpu = fake::FakeGpu();
    EXPECT_TRUE(kernels_.load(driver_));
    hold_.emplace(driver_, kernels_);
    EXPECT_TRUE(hold_->open(1 << 20));
    fake::gpu.launched.clear();
  }

  Driver driver_ = fake::fake_driver();
  Kernels kernels_;
  std::optional<Hold> hold_;
};

TEST_F(HoldTest, waits_for_a_time_nobody_knows) {
  std::set<std::int64_t> waits;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(hold_->begin());
    EXPECT_TRUE(hold_->is_begun());
    const std::int64_t start_ns = clock_ns();
    ASSERT_TRUE(hold_->hold());
    waits.insert((clock_ns() - start_ns) / 1'000);
    EXPECT_FALSE(hold_->is_begun());
    hold_->release();
  }
  EXPECT_GE(*waits.begin(), 20);
  EXPECT_GE(waits.size(), 5u);
}

TEST_F(HoldTest, what_is_absent_is_told_once_all_is_settled) {
  fake::gpu.hold_gap_ns = 70'000'000;  // far above what the host takes here
  ASSERT_TRUE(hold_->begin());
  ASSERT_TRUE(hold_->hold());
  hold_->release();
  fake::gpu.hold_gap_ns = 500'000'000;
  ASSERT_TRUE(hold_->probe());
  ASSERT_TRUE(hold_->settle());
  EXPECT_GE(hold_->occupancy_gap_ns(), 570'000'000);
  EXPECT_LT(hold_->occupancy_gap_ns(), 600'000'000);
}

TEST_F(HoldTest, copying_is_no_absence) {
  ASSERT_TRUE(hold_->begin());
  ASSERT_TRUE(hold_->hold());
  hold_->release();
  ASSERT_TRUE(hold_->probe());
  fake::gpu.now_ns += 900'000'000;
  ASSERT_TRUE(hold_->settle());
  EXPECT_GE(hold_->occupancy_gap_ns(), 900'000'000);
  ASSERT_TRUE(hold_->probe());
  fake::gpu.now_ns += 900'000'000;
  hold_->note_copied(450ull << 30);
  ASSERT_TRUE(hold_->settle());
  EXPECT_LT(hold_->occupancy_gap_ns(), 100'000'000);
  ASSERT_TRUE(hold_->probe());
  fake::gpu.now_ns += 900'000'000;
  for (int i = 0; i < 300'000; ++i) hold_->note_copied(1);  // each takes its time, however small
  ASSERT_TRUE(hold_->settle());
  EXPECT_LT(hold_->occupancy_gap_ns(), 100'000'000);
}

TEST_F(HoldTest, after_much_copying_the_holder_has_a_slice_of_its_own) {
  for (const std::uint64_t copied : {1ull << 20, 8ull << 30}) {
    ASSERT_TRUE(hold_->begin());
    hold_->note_copied(copied);
    fake::gpu.failing = "synchronize";
    EXPECT_EQ(hold_->hold().has_value(), copied < 1ull << 30) << copied;
    fake::gpu.failing.clear();
    hold_->release();
  }
}

TEST_F(HoldTest, slow_memory_is_seen_by_what_is_written_to_empty_the_cache) {
  const auto cycle = [&](std::uint64_t copied) {
    ASSERT_TRUE(hold_->begin());
    hold_->note_copied(copied);
    ASSERT_TRUE(hold_->hold());
    hold_->release();
    ASSERT_TRUE(hold_->probe());
    ASSERT_TRUE(hold_->settle());
  };
  for (std::size_t i = 0; i < kSamplesMin; ++i) cycle(0);
  EXPECT_EQ(hold_->memory_slowness(), 1);
  fake::gpu.fill_ns += 3'000;
  cycle(0);
  EXPECT_GT(hold_->memory_slowness(), 1.1);
  cycle(8ull << 30);
  EXPECT_EQ(hold_->memory_slowness(), 1) << "the holder waits until all has been copied: that tells of nothing";
  const std::int64_t start_ns = clock_ns();
  ASSERT_TRUE(hold_->await_quick_memory(20'000'000));
  EXPECT_GE(clock_ns() - start_ns, 20'000'000) << "it stays slow";
  fake::gpu.fill_ns -= 3'000;
  ASSERT_TRUE(hold_->await_quick_memory(60'000'000'000));
}

TEST_F(HoldTest, a_sequence_that_is_given_up_is_over) {
  ASSERT_TRUE(hold_->begin());
  hold_->release();
  EXPECT_FALSE(hold_->is_begun());
}

TEST_F(HoldTest, a_gpu_that_refuses_is_an_error) {
  fake::gpu.failing = "launch";
  EXPECT_EQ(hold_->begin().error().message, "cuLaunchKernel of kq_hold: told (700)");
}

}  // namespace
}  // namespace kq::judge::cuda
