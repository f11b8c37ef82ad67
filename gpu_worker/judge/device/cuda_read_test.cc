#include "gpu_worker/judge/device/cuda_read.h"

#include <gtest/gtest.h>

#include <vector>

#include "gpu_worker/judge/testing/fake_driver.h"

namespace kq::judge::cuda {
namespace {

class LargeReadsTest : public testing::Test {
 protected:
  LargeReadsTest() { fake::gpu = fake::FakeGpu(); }
  ~LargeReadsTest() override { driver_.free(memory_); }

  void fill(std::size_t bytes) {
    ASSERT_EQ(driver_.allocate(&memory_, bytes), kSuccess);
    content_.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i) content_[i] = static_cast<std::byte>(i * 31 + i / 251);
    std::copy(content_.begin(), content_.end(), fake::host<std::byte>(memory_));
  }

  Driver driver_ = fake::fake_driver();
  Pointer memory_ = 0;
  std::vector<std::byte> content_;
};

TEST_F(LargeReadsTest, reads_any_number_of_bytes) {
  LargeReads reads(driver_);
  for (const std::size_t bytes :
       {std::size_t{1}, LargeReads::kBytesMin - 1, LargeReads::kBytesMin, LargeReads::kPieceBytes,
        LargeReads::kPieceBytes + 1, 3 * LargeReads::kPieceBytes, 3 * LargeReads::kPieceBytes + 17}) {
    fill(bytes);
    std::vector<std::byte> got(bytes);
    ASSERT_TRUE(reads.read(got, memory_)) << bytes;
    EXPECT_EQ(got, content_) << bytes;
    driver_.free(memory_);
    memory_ = 0;
  }
}

TEST_F(LargeReadsTest, reads_without_page_locked_memory) {
  fill(LargeReads::kPieceBytes);
  fake::gpu.failing = "host_allocate";
  LargeReads reads(driver_);
  std::vector<std::byte> got(content_.size());
  ASSERT_TRUE(reads.read(got, memory_));
  EXPECT_EQ(got, content_);
}

TEST_F(LargeReadsTest, errors_name_the_operation) {
  fill(LargeReads::kPieceBytes);
  LargeReads reads(driver_);
  std::vector<std::byte> got(content_.size());
  fake::gpu.failing = "start_copy_to_host";
  EXPECT_EQ(reads.read(got, memory_).error().message, "cuMemcpyDtoHAsync: fake error (700)");
  fake::gpu.failing = "synchronize";
  EXPECT_EQ(reads.read(got, memory_).error().message, "cuCtxSynchronize: fake error (700)");
}

}  // namespace
}  // namespace kq::judge::cuda
