#include "gpu_worker/child/runtime/call_arena.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

TEST(CallArena, hands_out_aligned_places_until_it_is_full) {
  CallArena arena(2048);
  EXPECT_EQ(arena.take(1), 0u);
  EXPECT_EQ(arena.take(513), 512u);
  EXPECT_EQ(arena.take(512), 1536u);
  EXPECT_EQ(arena.take(1), std::nullopt);
  EXPECT_TRUE(arena.give(512));
  EXPECT_FALSE(arena.give(512));
  EXPECT_EQ(arena.take(1025), std::nullopt);
  EXPECT_EQ(arena.take(1024), 512u);
}

TEST(CallArena, one_of_no_size_has_no_place) {
  CallArena arena(0);
  EXPECT_EQ(arena.take(0), std::nullopt);
  EXPECT_EQ(arena.take(~0ull), std::nullopt);
}

TEST(CallArena, has_room_for_so_many_blocks) {
  CallArena arena(1ull << 40);
  for (std::size_t i = 0; i < CallArena::kBlocksMax; ++i) ASSERT_TRUE(arena.take(1));
  EXPECT_EQ(arena.take(1), std::nullopt);
}

TEST(CallArena, places_never_overlap) {
  constexpr std::uint64_t kBytes = 100'000;
  CallArena arena(kBytes);
  std::mt19937_64 random(7);
  std::map<std::uint64_t, std::uint64_t> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0 && !taken.empty()) {
      const auto place = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      ASSERT_TRUE(arena.give(place->first));
      taken.erase(place);
      continue;
    }
    const std::uint64_t bytes = random() % 6'000;
    const auto place = arena.take(bytes);
    if (!place) continue;
    ASSERT_LE(*place + bytes, kBytes);
    const auto next = taken.lower_bound(*place);
    if (next != taken.end()) {
      ASSERT_LE(*place + bytes, next->first);
    }
    if (next != taken.begin()) {
      ASSERT_LE(std::prev(next)->second, *place);
    }
    taken[*place] = *place + bytes;
  }
}

TEST(ArenaMemory, is_the_arenas_while_there_is_room) {
  kq_arena_use(1 << 20, 4096);
  void* const first = kq_arena_malloc(4096, 0, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(first), 1u << 20);
  kq_arena_free(first, 4096, 0, nullptr);
  EXPECT_EQ(kq_arena_malloc(1, 0, nullptr), first);
}

}  // namespace
}  // namespace kq::runtime
