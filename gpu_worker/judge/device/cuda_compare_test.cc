#include "gpu_worker/judge/device/cuda_compare.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_driver.h"

namespace kq::judge::cuda {
namespace {

class LooksTest : public testing::Test {
 protected:
  LooksTest() {
    fake::gpu = fake::FakeGpu();
    EXPECT_TRUE(kernels_.load(driver_));
    looks_.emplace(driver_, kernels_);
  }
  static Pointer at(const void* bytes) { return reinterpret_cast<Pointer>(bytes); }

  Driver driver_ = fake::fake_driver();
  Kernels kernels_;
  std::optional<Looks> looks_;
  alignas(8) char a_[64] = {};
  alignas(8) char b_[64] = {};
};

TEST_F(LooksTest, all_of_a_round_are_told_in_order_and_the_next_round_begins_anew) {
  ASSERT_TRUE(looks_->open());
  b_[40] = 1;
  for (int round = 0; round < 3; ++round) {
    looks_->begin();
    ASSERT_TRUE(looks_->add_bytes(at(a_), at(b_), 40));
    ASSERT_TRUE(looks_->add_bytes(at(a_), at(b_), 64));
    ASSERT_TRUE(looks_->add_word(at(a_), 0, 64));
    ASSERT_TRUE(looks_->send());
    const auto seen = looks_->finish();
    ASSERT_TRUE(seen) << seen.error().message;
    ASSERT_EQ(seen->size(), 3u);
    EXPECT_TRUE((*seen)[0]);
    EXPECT_FALSE((*seen)[1]);
    EXPECT_TRUE((*seen)[2]);
  }
  looks_->begin();
  ASSERT_TRUE(looks_->add_bytes(at(a_), at(a_), 64) && looks_->add_bytes(at(a_), at(a_), 64) && looks_->send());
  EXPECT_TRUE(looks_->finish()->back()) << "what the round before found is gone";
}

TEST_F(LooksTest, a_broken_context_is_an_error) {
  ASSERT_TRUE(looks_->open());
  looks_->begin();
  ASSERT_TRUE(looks_->send() && looks_->finish());
  fake::gpu.failing = "launch";
  EXPECT_FALSE(looks_->add_bytes(at(a_), at(b_), 8));
  EXPECT_FALSE(looks_->send());
  fake::gpu.failing = "stream_query";
  EXPECT_FALSE(looks_->finish()) << "nothing was told, and the driver says why";
}

TEST_F(LooksTest, what_cannot_be_had_is_said_and_the_rest_given_back) {
  for (const char* function : {"host_allocate", "host_pointer", "allocate", "fill_words"}) {
    fake::gpu.failing = function;
    EXPECT_FALSE(looks_->open()) << function;
    looks_.emplace(driver_, kernels_);
    EXPECT_TRUE(fake::gpu.allocated.empty() && fake::gpu.host_allocated.empty());
  }
}

}  // namespace
}  // namespace kq::judge::cuda
