#include "broker/blob_cache.h"

#include <array>
#include <cstring>
#include <utility>

#include "store/keys.h"

namespace kq {
namespace {

constexpr std::array kLikeliestFirst{Packing::lz4, Packing::zstd, Packing::raw};

}  // namespace

std::size_t BlobCache::KeyHash::operator()(const Hash& hash) const {
  std::size_t value = 0;
  std::memcpy(&value, hash.bytes.data(), sizeof value);
  return value;
}

const Blob& BlobCache::put(Blob blob) {
  const auto [place, is_new] = places_.try_emplace(blob.hash);
  if (is_new) {
    bytes_ += blob.bytes.size();
    blobs_.push_front(std::move(blob));
    place->second = blobs_.begin();
  }
  return *place->second;
}

Expected<const Blob*> BlobCache::find(const Store& store, const Hash& hash) {
  if (const auto place = places_.find(hash); place != places_.end()) {
    blobs_.splice(blobs_.begin(), blobs_, place->second);
    return &blobs_.front();
  }
  auto blob = read_blob(store, hash);
  if (!blob) return failure(std::move(blob.error()));
  if (!*blob) return nullptr;
  return &put(std::move(**blob));
}

Expected<void> BlobCache::read(const Store& store, const std::vector<Hash>& hashes) {
  std::vector<Hash> left = hashes;
  for (const Packing packing : kLikeliestFirst) {
    if (left.empty()) break;
    std::vector<std::string> keys;
    for (const Hash& hash : left) keys.push_back(blob_key(hash, packing));
    auto values = store.get_many(Family::blob, keys);
    if (!values) return failure(std::move(values.error()));
    std::vector<Hash> missing;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if ((*values)[i]) {
        put({.hash = left[i], .bytes = std::move(*(*values)[i]), .packing = packing});
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
  bytes_ -= place->second->bytes.size();
  blobs_.erase(place->second);
  places_.erase(place);
}

void BlobCache::shrink() {
  while (bytes_ > kBytesMax) {
    bytes_ -= blobs_.back().bytes.size();
    places_.erase(blobs_.back().hash);
    blobs_.pop_back();
  }
}

Expected<std::optional<Blob>> read_blob(const Store& store, const Hash& hash) {
  for (const Packing packing : kLikeliestFirst) {
    auto bytes = store.get(Family::blob, blob_key(hash, packing));
    if (!bytes) return failure(std::move(bytes.error()));
    if (*bytes) return Blob{.hash = hash, .bytes = std::move(**bytes), .packing = packing};
  }
  return std::nullopt;
}

Write write_of(const Blob& blob) {
  return {Family::blob, blob_key(blob.hash, blob.packing), blob.bytes};
}

}  // namespace kq
