#include "gpu_worker/child/runtime/call_arena.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

TEST(CallArena, allocates_aligned_blocks_until_it_is_full) {
  CallArena arena(2048);
  EXPECT_EQ(arena.allocate(1), 0u);
  EXPECT_EQ(arena.allocate(513), 512u);
  EXPECT_EQ(arena.allocate(512), 1536u);
  EXPECT_EQ(arena.allocate(1), std::nullopt);
  EXPECT_TRUE(arena.release(512));
  EXPECT_FALSE(arena.release(512));
  EXPECT_EQ(arena.allocate(1025), std::nullopt);
  EXPECT_EQ(arena.allocate(1024), 512u);
}

TEST(CallArena, an_empty_arena_allocates_nothing) {
  CallArena arena(0);
  EXPECT_EQ(arena.allocate(0), std::nullopt);
  EXPECT_EQ(arena.allocate(~0ull), std::nullopt);
}

TEST(CallArena, allocates_at_most_kBlocksMax_blocks) {
  CallArena arena(1ull << 40);
  for (std::size_t i = 0; i < CallArena::kBlocksMax; ++i) ASSERT_TRUE(arena.allocate(1));
  EXPECT_EQ(arena.allocate(1), std::nullopt);
}

TEST(CallArena, blocks_never_overlap) {
  constexpr std::uint64_t kBytes = 100'000;
  CallArena arena(kBytes);
  std::mt19937_64 random(7);
  std::map<std::uint64_t, std::uint64_t> taken;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0 && !taken.empty()) {
      const auto place = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      ASSERT_TRUE(arena.release(place->first));
      taken.erase(place);
      continue;
    }
    const std::uint64_t bytes = random() % 6'000;
    const auto place = arena.allocate(bytes);
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

TEST(ArenaMemory, is_taken_from_the_arena_while_the_arena_has_room) {
  kq_arena_use(1 << 20, 4096);
  void* const first = kq_arena_malloc(4096, 0, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(first), 1u << 20);
  kq_arena_free(first, 4096, 0, nullptr);
  EXPECT_EQ(kq_arena_malloc(1, 0, nullptr), first);
}

}  // namespace
}  // namespace kq::runtime
