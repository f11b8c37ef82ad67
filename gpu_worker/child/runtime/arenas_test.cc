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

TEST(Stretch, arenas_lie_side_by_side_from_where_a_huge_page_can_begin) {
  Stretch stretch(4 * kArena);
  void* first = stretch.take(kArena);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(number(first) % (2 * kArena), 0u);
  for (std::uintptr_t i = 1; i < 4; ++i) EXPECT_EQ(number(stretch.take(kArena)), number(first) + i * kArena);
  std::memset(first, 1, 4 * kArena);
  give_back(first, 4 * kArena);
}

TEST(Stretch, a_full_one_and_a_closed_one_give_mappings_of_their_own) {
  Stretch stretch(2 * kArena);
  void* taken = stretch.take(kArena);
  void* too_large = stretch.take(2 * kArena);
  stretch.close();
  void* late = stretch.take(kArena);
  for (void* arena : {taken, too_large, late}) {
    ASSERT_NE(arena, nullptr);
    std::memset(arena, 1, kArena);
    give_back(arena, arena == too_large ? 2 * kArena : kArena);
  }
}

TEST(Stretch, one_that_cannot_be_had_gives_mappings_of_its_own_too) {
  Stretch stretch(std::size_t{1} << 60);
  void* arena = stretch.take(kArena);
  ASSERT_NE(arena, nullptr);
  std::memset(arena, 1, kArena);
  give_back(arena, kArena);
  stretch.close();
}

TEST(Stretch, more_than_there_is_is_null) {
  Stretch stretch(kArena);
  EXPECT_EQ(stretch.take(std::size_t{1} << 60), nullptr);
  stretch.close();
}

}  // namespace
}  // namespace kq::runtime
