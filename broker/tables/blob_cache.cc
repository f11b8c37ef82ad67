#include "broker/tables/blob_cache.h"

#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "store/keys.h"

namespace kq::broker {
namespace {

constexpr std::array kLikeliestFirst{Packing::lz4, Packing::zstd, Packing::raw};

// The memory of an entry beside its bytes: the nodes of the list and of the hash table, the hash twice, and what the
// allocator adds. Without it a cache of tiny files would have millions of entries.
constexpr std::size_t kEntryBytes = 256;

std::size_t memory_of(const Blob& blob) {
  return kEntryBytes + blob.bytes.size();
}

}  // namespace

std::size_t BlobCache::KeyHash::operator()(const Hash& hash) const {
  std::size_t value = 0;
  std::memcpy(&value, hash.bytes.data(), sizeof value);
  return value;
}

const Blob& BlobCache::put(Blob blob) {
  const auto [place, is_new] = places_.try_emplace(blob.hash);
  if (is_new) {
    kept_.bytes += memory_of(blob);
    kept_.list.push_front({.blob = std::move(blob)});
    place->second = kept_.list.begin();
  }
  return place->second->blob;
}

Expected<const Blob*> BlobCache::find(const store::Store& store, const Hash& hash) {
  if (const auto place = places_.find(hash); place != places_.end()) {
    Entry& entry = *place->second;
    to_front_of(entry.is_shared || entry.is_used ? kept_ : used_, place->second);
    return &entry.blob;
  }
  KQ_TRY_VALUE(auto blob, read_blob(store, hash));
  if (!blob) return nullptr;
  put(std::move(*blob));
  return find(store, hash);
}

Expected<void> BlobCache::read(const store::Store& store, const std::vector<Hash>& hashes) {
  std::vector<Hash> left = hashes;
  for (const Packing packing : kLikeliestFirst) {
    if (left.empty()) break;
    std::vector<std::string> keys;
    for (const Hash& hash : left) keys.push_back(store::blob_key(hash, packing));
    KQ_TRY_VALUE(auto values, store.get_many(store::Family::blob, keys));
    std::vector<Hash> missing;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (values[i]) {
        put({.hash = left[i], .bytes = std::move(*values[i]), .packing = packing});
      } else {
        missing.push_back(left[i]);
      }
    }
    left = std::move(missing);
  }
  return {};
}

void BlobCache::forget(const Hash& hash) {
  const auto place = places_.find(hash);
  if (place == places_.end()) return;
  drop(place->second);
}

void BlobCache::shrink() {
  while (used_.bytes > kUsedBytesMax) drop(std::prev(used_.list.end()));
  while (kept_.bytes > kBytesMax - kUsedBytesMax) drop(std::prev(kept_.list.end()));
}

void BlobCache::to_front_of(Entries& entries, Place place) {
  Entries& from = entries_of(*place);
  from.bytes -= memory_of(place->blob);
  entries.bytes += memory_of(place->blob);
  entries.list.splice(entries.list.begin(), from.list, place);
  place->is_shared = place->is_shared || place->is_used;
  place->is_used = &entries == &used_;
}

void BlobCache::drop(Place place) {
  Entries& entries = entries_of(*place);
  entries.bytes -= memory_of(place->blob);
  places_.erase(place->blob.hash);
  entries.list.erase(place);
}

Expected<std::optional<Blob>> read_blob(const store::Store& store, const Hash& hash) {
  for (const Packing packing : kLikeliestFirst) {
    KQ_TRY_VALUE(auto bytes, store.get(store::Family::blob, store::blob_key(hash, packing)));
    if (bytes) return Blob{.hash = hash, .bytes = std::move(*bytes), .packing = packing};
  }
  return std::nullopt;
}

store::Write write_of(const Blob& blob) {
  return {store::Family::blob, store::blob_key(blob.hash, blob.packing), std::string(blob.bytes)};
}

}  // namespace kq::broker
