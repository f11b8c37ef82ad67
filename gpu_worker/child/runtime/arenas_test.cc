#include "gpu_worker/child/runtime/arenas.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace kq::runtime {
namespace {

constexpr std::size_t kArena = 1u << 20;

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

TEST(HugePageRegion, arenas_are_adjacent_and_the_first_is_aligned_to_a_huge_page) {
  HugePageRegion region(4 * kArena);
  void* first = region.take(kArena);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(number(first) % (2 * kArena), 0u);
  for (std::uintptr_t i = 1; i < 4; ++i) EXPECT_EQ(number(region.take(kArena)), number(first) + i * kArena);
  std::memset(first, 1, 4 * kArena);
  give_back(first, 4 * kArena);
}

TEST(HugePageRegion, a_full_or_closed_region_makes_a_mapping_for_each_request) {
  HugePageRegion region(2 * kArena);
  void* taken = region.take(kArena);
  void* too_large = region.take(2 * kArena);
  region.close();
  void* late = region.take(kArena);
  for (void* arena : {taken, too_large, late}) {
    ASSERT_NE(arena, nullptr);
    std::memset(arena, 1, kArena);
    give_back(arena, arena == too_large ? 2 * kArena : kArena);
  }
}

TEST(HugePageRegion, a_region_that_cannot_be_mapped_makes_a_mapping_for_each_request) {
  HugePageRegion region(std::size_t{1} << 60);
  void* arena = region.take(kArena);
  ASSERT_NE(arena, nullptr);
  std::memset(arena, 1, kArena);
  give_back(arena, kArena);
  region.close();
}

TEST(HugePageRegion, a_request_beyond_the_memory_of_the_machine_returns_null) {
  HugePageRegion region(kArena);
  EXPECT_EQ(region.take(std::size_t{1} << 60), nullptr);
  region.close();
}

}  // namespace
}  // namespace kq::runtime
