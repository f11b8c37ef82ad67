#include "gpu_worker/judge/check/memory_checks.h"

#include <sys/mman.h>

#include <cstring>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/cpu_device.h"

namespace kq::judge {
namespace {

constexpr std::size_t kPieceBytes = 16;  // so small that a tensor has many pieces

class MemoryChecksTest : public testing::Test {
 protected:
  void poke(Memory& memory, std::uint64_t offset, char value) {
    reinterpret_cast<char*>(memory.address())[offset] = value;
  }

  std::unique_ptr<Device> device_ = std::move(*open_cpu_device());
  std::unique_ptr<Memory> a_ = std::move(*device_->make_private(4096));
  std::unique_ptr<Memory> b_ = std::move(*device_->make_private(4096));
  MemoryChecks checks_{*device_, kPieceBytes};
};

TEST_F(MemoryChecksTest, compares_a_tensor_of_many_pieces) {
  Comparison comparison(channel::Dtype::uint8, {});
  poke(*b_, 100 + 777, 5);
  poke(*b_, 100 + 1000, 6);  // behind the end of the tensor
  ASSERT_TRUE(checks_.compare(comparison, {*a_, 0}, {*b_, 100}, 1000));
  EXPECT_EQ(comparison.mismatch().element, 777u);
  EXPECT_EQ(comparison.mismatch().mismatched, 1u);
  EXPECT_EQ(comparison.mismatch().total, 1000u);
}

TEST_F(MemoryChecksTest, finds_the_first_byte_that_differs) {
  EXPECT_EQ(*checks_.difference({*a_, 0}, {*b_, 0}, 4096), std::nullopt);
  poke(*a_, 4095, 1);
  EXPECT_EQ(*checks_.difference({*a_, 1}, {*b_, 1}, 4095), 4094u);
  EXPECT_EQ(*checks_.difference({*a_, 1}, {*b_, 1}, 4094), std::nullopt);
  EXPECT_EQ(*checks_.difference({*a_, 4095}, {*b_, 4095}, 0), std::nullopt);
}

TEST_F(MemoryChecksTest, finds_the_first_byte_that_a_fill_did_not_leave) {
  ASSERT_TRUE(device_->fill(*a_, 0, 4096, 0xA1B2C3D4));
  EXPECT_EQ(*checks_.difference(0xA1B2C3D4, {*a_, 0}, 4096), std::nullopt);
  EXPECT_EQ(*checks_.difference(0xA1B2C3D4, {*a_, 3}, 200), std::nullopt);
  EXPECT_EQ(*checks_.difference(0xA1B2C3D5, {*a_, 1}, 200), 3u);
  poke(*a_, 130, 0);
  EXPECT_EQ(*checks_.difference(0xA1B2C3D4, {*a_, 1}, 200), 129u);
}

}  // namespace
}  // namespace kq::judge
