#include "gpu_worker/judge/device/cuda_mapped.h"

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_driver.h"

namespace kq::judge::cuda {
namespace {

struct Words {
  std::uint32_t first = 7;
  std::uint32_t second = 0;
};

class MappedTest : public testing::Test {
 protected:
  MappedTest() { fake::gpu = fake::FakeGpu(); }
  Driver driver_ = fake::fake_driver();
};

TEST_F(MappedTest, host_and_gpu_share_the_memory_and_it_is_freed) {
  {
    Mapped<Words> words(driver_);
    ASSERT_TRUE(words.open());
    EXPECT_EQ(words->first, 7u);
    *fake::host<std::uint32_t>(words.device(offsetof(Words, second))) = 9;
    EXPECT_EQ(words.get()->second, 9u);
    EXPECT_TRUE(await_number(driver_, words->second, 9));
  }
  EXPECT_TRUE(fake::gpu.host_allocated.empty());
}

TEST_F(MappedTest, memory_that_cannot_be_allocated_is_an_error) {
  for (const char* function : {"host_allocate", "host_pointer"}) {
    fake::gpu.failing = function;
    Mapped<Words> words(driver_);
    EXPECT_FALSE(words.open()) << function;
  }
  EXPECT_TRUE(fake::gpu.host_allocated.empty());
}

TEST_F(MappedTest, does_not_wait_for_a_broken_context) {
  fake::gpu.failing = "stream_query";
  EXPECT_EQ(await_word(driver_, [] { return false; }).error().message, "cuStreamQuery: fake error (700)");
}

}  // namespace
}  // namespace kq::judge::cuda
