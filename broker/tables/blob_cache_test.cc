#include "broker/tables/blob_cache.h"

#include <gtest/gtest.h>

#include <cstring>

#include "store/memory_store.h"

namespace kq::broker {
namespace {

Blob blob(char content, std::size_t size = 1, Packing packing = Packing::raw) {
  const std::string bytes(size, content);
  return {.hash = sha256(bytes), .bytes = bytes, .packing = packing};
}

void save(store::MemoryStore& store, const Blob& blob) {
  const store::Write write = write_of(blob);
  ASSERT_TRUE(store.commit(std::span(&write, 1)));
}

// What the cache counts for a blob beside its bytes.
std::size_t overhead() {
  BlobCache blobs;
  blobs.put(blob('a'));
  return blobs.size_bytes() - 1;
}

TEST(BlobCache, finds_blobs_in_memory_or_on_disk_raw_or_packed) {
  store::MemoryStore store;
  BlobCache blobs;
  blobs.put(blob('a'));
  save(store, blob('b'));
  save(store, blob('c', 1, Packing::zstd));
  EXPECT_EQ(**blobs.find(store, blob('a').hash), blob('a'));
  EXPECT_EQ(**blobs.find(store, blob('b').hash), blob('b'));
  EXPECT_EQ(**blobs.find(store, blob('c').hash), blob('c', 1, Packing::zstd));
  EXPECT_EQ(*blobs.find(store, blob('d').hash), nullptr);
}

TEST(BlobCache, reads_many_blobs_at_once_and_omits_missing_ones) {
  store::MemoryStore store;
  BlobCache blobs;
  save(store, blob('b'));
  save(store, blob('c', 1, Packing::zstd));
  ASSERT_TRUE(blobs.read(store, {blob('b').hash, blob('c').hash, blob('d').hash}));
  const store::MemoryStore empty;
  EXPECT_EQ(**blobs.find(empty, blob('b').hash), blob('b'));
  EXPECT_EQ(**blobs.find(empty, blob('c').hash), blob('c', 1, Packing::zstd));
  EXPECT_FALSE(blobs.has(blob('d').hash));
}

TEST(BlobCache, drops_a_blob_that_left_the_store) {
  store::MemoryStore store;
  BlobCache blobs;
  blobs.put(blob('a'));
  blobs.forget(blob('a').hash);
  blobs.forget(blob('b').hash);
  EXPECT_EQ(*blobs.find(store, blob('a').hash), nullptr);
  EXPECT_EQ(blobs.size_bytes(), 0u);
}

TEST(BlobCache, drops_the_least_recently_used_blob) {
  store::MemoryStore store;
  BlobCache blobs;
  const std::size_t third = BlobCache::kBytesMax / 3 - overhead();
  const Blob a = blob('a', third), b = blob('b', third), c = blob('c', third), d = blob('d', third);
  blobs.put(a);
  blobs.put(b);
  blobs.put(c);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(blobs.find(store, a.hash));
  blobs.put(d);
  EXPECT_TRUE(blobs.has(b.hash)) << "the blob may not be on disk yet";
  blobs.shrink();
  EXPECT_TRUE(blobs.has(a.hash));
  EXPECT_FALSE(blobs.has(b.hash));
  EXPECT_LE(blobs.size_bytes(), BlobCache::kBytesMax);
}

TEST(BlobCache, drops_blobs_used_once_before_shared_or_unused_ones) {
  store::MemoryStore store;
  BlobCache blobs;
  const std::size_t half = BlobCache::kUsedBytesMax / 2 - overhead();
  const Blob shared = blob('s', half), waits = blob('w', half);
  blobs.put(shared);
  blobs.put(waits);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(blobs.find(store, shared.hash));
  for (const char name : {'a', 'b', 'c'}) {
    blobs.put(blob(name, half));
    EXPECT_EQ(**blobs.find(store, blob(name, half).hash), blob(name, half));
  }
  EXPECT_TRUE(blobs.has(blob('a', half).hash)) << "the blob may not be on disk yet";
  blobs.shrink();
  EXPECT_FALSE(blobs.has(blob('a', half).hash));
  for (const Blob& kept : {shared, waits, blob('b', half), blob('c', half)}) EXPECT_TRUE(blobs.has(kept.hash));
  EXPECT_EQ(blobs.size_bytes(), 4 * (half + overhead()));
}

TEST(BlobCache, limits_the_number_of_tiny_blobs) {
  constexpr std::size_t kTinyBytes = 8;
  BlobCache blobs;
  const std::size_t count = BlobCache::kBytesMax / 64;
  Blob tiny = blob('t', kTinyBytes);
  const auto number = [&](std::size_t i) -> const Blob& {
    std::memcpy(tiny.hash.bytes.data(), &i, sizeof i);
    return tiny;
  };
  for (std::size_t i = 0; i < count; ++i) blobs.put(number(i));
  blobs.shrink();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) kept += blobs.has(number(i).hash) ? 1 : 0;
  EXPECT_LE(kept, BlobCache::kBytesMax / 128);
}

}  // namespace
}  // namespace kq::broker
