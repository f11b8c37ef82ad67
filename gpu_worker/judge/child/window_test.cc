#include "gpu_worker/judge/child/window.h"

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"

namespace kq::judge {
namespace {

constexpr std::uint64_t kSlot = 3 << 20;
constexpr std::uint64_t kArena = 16 << 20;

class WindowTest : public testing::Test {
 protected:
  WindowTest() { device_.described.kind = DeviceKind::cuda; }
  Step<Window> make(std::uint64_t slots, std::uint64_t bytes_max = ~0ull) {
    device_.window_bytes_max = bytes_max;
    return make_window(device_, slots, kSlot, kArena);
  }

  FakeDevice device_;
};

TEST_F(WindowTest, is_one_allocation_with_the_arena_behind_all_slots) {
  const auto window = make(4);
  ASSERT_TRUE(window);
  EXPECT_EQ(device_.windows, 1);
  EXPECT_EQ(window->slots, 4u);
  EXPECT_EQ(window->arena.memory, window->memory.get());
  EXPECT_GE(window->arena.begin, 4 * kSlot);
  EXPECT_EQ(window->arena.begin % (2 << 20), 0u);
  EXPECT_GE(window->arena.bytes(), kArena);
}

TEST_F(WindowTest, does_without_more_slots_first_and_then_without_the_arena) {
  const auto one = make(4, 2 * kSlot + kArena);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->slots, 1u);
  EXPECT_GE(one->arena.bytes(), kArena);
  const auto least = make(4, kArena);
  ASSERT_TRUE(least);
  EXPECT_EQ(least->slots, 1u);
  EXPECT_EQ(least->arena.memory, nullptr);
  const auto none = make(4, kSlot - 1);
  ASSERT_FALSE(none);
  EXPECT_EQ(std::get<Ended>(none.error()).name, VerdictName::too_large);
}

TEST_F(WindowTest, has_no_arena_on_a_cpu) {
  device_.described.kind = DeviceKind::cpu;
  const auto window = make(1);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->arena.memory, nullptr);
  EXPECT_LT(window->memory->bytes(), kArena);
}

}  // namespace
}  // namespace kq::judge
