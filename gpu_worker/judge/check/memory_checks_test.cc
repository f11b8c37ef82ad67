#include "gpu_worker/judge/check/memory_checks.h"

#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/testing/fake_device.h"

namespace kq::judge {
namespace {

constexpr std::size_t kPieceBytes = 16;  // so small that a tensor has many pieces

class MemoryChecksTest : public testing::Test {
 protected:
  void poke(Memory& memory, std::uint64_t offset, char value) {
    reinterpret_cast<char*>(memory.address())[offset] = value;
  }

  static void expect_same(const Comparison& a, const Comparison& b) {
    EXPECT_EQ(a.mismatch(), b.mismatch());
    EXPECT_EQ(a.worst(), b.worst());
    EXPECT_EQ(a.last(), b.last());
    EXPECT_EQ(a.reason(), b.reason());
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

TEST_F(MemoryChecksTest, takes_over_what_the_device_measures) {
  const std::vector<float> expected{1, 2, 3, 4, 5, 0, 7, NAN};
  const std::vector<float> got{1, 2.5f, 3, 9, 5, 1e-6f, INFINITY, NAN};
  std::memcpy(reinterpret_cast<void*>(a_->address()), expected.data(), 32);
  std::memcpy(reinterpret_cast<char*>(b_->address()) + 4, got.data(), 32);
  for (const auto& [dtype, is_measured] :
       {std::pair(channel::Dtype::float32, 1), std::pair(channel::Dtype::int32, 0)}) {
    Comparison by_host(dtype, {.rtol = 1e-4, .atol = 1e-4});
    ASSERT_TRUE(checks_.compare(by_host, {*a_, 0}, {*b_, 4}, 32));
    FakeDevice device;
    device.can_compare = true;
    MemoryChecks checks(device, kPieceBytes);
    Comparison by_device(dtype, {.rtol = 1e-4, .atol = 1e-4});
    ASSERT_TRUE(checks.compare(by_device, {*a_, 0}, {*b_, 4}, 32));
    EXPECT_EQ(device.measurements, is_measured);
    expect_same(by_device, by_host);
  }
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
