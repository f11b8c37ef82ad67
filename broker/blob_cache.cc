#include "broker/blob_cache.h"

#include <cstring>
#include <utility>

#include "store/keys.h"

namespace kq {

std::size_t BlobCache::KeyHash::operator()(const Hash& hash) const {
  std::size_t value = 0;
  std::memcpy(&value, hash.bytes.data(), sizeof value);
  return value;
}

void BlobCache::put(const Blob& blob) {
  if (places_.contains(blob.hash)) return;
  blobs_.push_front(blob);
  places_.emplace(blob.hash, blobs_.begin());
  bytes_ += blob.bytes.size();
}

Expected<const Blob*> BlobCache::find(const Store& store, const Hash& hash) {
  if (const auto place = places_.find(hash); place != places_.end()) {
    blobs_.splice(blobs_.begin(), blobs_, place->second);
    return &blobs_.front();
  }
  auto blob = read_blob(store, hash);
  if (!blob) return failure(std::move(blob.error()));
  if (!*blob) return nullptr;
  put(**blob);
  return &blobs_.front();
}

void BlobCache::shrink() {
  while (bytes_ > kBytesMax) {
    bytes_ -= blobs_.back().bytes.size();
    places_.erase(blobs_.back().hash);
    blobs_.pop_back();
  }
}

Expected<std::optional<Blob>> read_blob(const Store& store, const Hash& hash) {
  for (const Packing packing : {Packing::zstd, Packing::raw}) {
    auto bytes = store.get(Family::blob, blob_key(hash, packing == Packing::zstd));
    if (!bytes) return failure(std::move(bytes.error()));
    if (*bytes) return Blob{.hash = hash, .bytes = std::move(**bytes), .packing = packing};
  }
  return std::nullopt;
}

Write write_of(const Blob& blob) {
  return {Family::blob, blob_key(blob.hash, blob.packing == Packing::zstd), blob.bytes};
}

}  // namespace kq
