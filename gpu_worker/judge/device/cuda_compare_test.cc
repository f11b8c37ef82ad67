#include "gpu_worker/judge/device/cuda_compare.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_driver.h"

namespace kq::judge::cuda {
namespace {

class ComparisonsTest : public testing::Test {
 protected:
  ComparisonsTest() {
    fake::gpu = fake::FakeGpu();
    EXPECT_TRUE(kernels_.load(driver_));
    comparisons_.emplace(driver_, kernels_);
  }
  static Pointer at(const void* bytes) { return reinterpret_cast<Pointer>(bytes); }

  Driver driver_ = fake::fake_driver();
  Kernels kernels_;
  std::optional<Comparisons> comparisons_;
  alignas(8) char a_[64] = {};
  alignas(8) char b_[64] = {};
};

TEST_F(ComparisonsTest, a_round_has_its_results_in_order_and_none_of_the_round_before) {
  ASSERT_TRUE(comparisons_->open());
  b_[40] = 1;
  for (int round = 0; round < 3; ++round) {
    comparisons_->begin();
    ASSERT_TRUE(comparisons_->add_bytes(at(a_), at(b_), 40));
    ASSERT_TRUE(comparisons_->add_bytes(at(a_), at(b_), 64));
    ASSERT_TRUE(comparisons_->add_word(at(a_), 0, 64));
    ASSERT_TRUE(comparisons_->send());
    const auto seen = comparisons_->receive();
    ASSERT_TRUE(seen) << seen.error().message;
    ASSERT_EQ(seen->size(), 3u);
    EXPECT_TRUE((*seen)[0]);
    EXPECT_FALSE((*seen)[1]);
    EXPECT_TRUE((*seen)[2]);
  }
  comparisons_->begin();
  ASSERT_TRUE(comparisons_->add_bytes(at(a_), at(a_), 64) && comparisons_->add_bytes(at(a_), at(a_), 64) &&
              comparisons_->send());
  EXPECT_TRUE(comparisons_->receive()->back()) << "the results of the round before are zeroed";
}

TEST_F(ComparisonsTest, a_broken_context_is_an_error) {
  ASSERT_TRUE(comparisons_->open());
  comparisons_->begin();
  ASSERT_TRUE(comparisons_->send() && comparisons_->receive());
  fake::gpu.failing = "launch";
  EXPECT_FALSE(comparisons_->add_bytes(at(a_), at(b_), 8));
  EXPECT_FALSE(comparisons_->send());
  fake::gpu.failing = "stream_query";
  EXPECT_FALSE(comparisons_->receive()) << "nothing was published, and the driver says why";
}

TEST_F(ComparisonsTest, a_failed_open_frees_what_it_had_allocated) {
  for (const char* function : {"host_allocate", "host_pointer", "allocate", "fill_words"}) {
    fake::gpu.failing = function;
    EXPECT_FALSE(comparisons_->open()) << function;
    comparisons_.emplace(driver_, kernels_);
    EXPECT_TRUE(fake::gpu.allocated.empty() && fake::gpu.host_allocated.empty());
  }
}

}  // namespace
}  // namespace kq::judge::cuda
