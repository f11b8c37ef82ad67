// A cache of the files that jobs need: most jobs are leased soon after their submission, and many share a problem.
//
// A file is "used" when a lease asks for it. A file that was used once is rarely used again, so only few such files are
// kept, and their memory, which the processor's caches hold, is soon used again. A file that was used twice is shared
// by jobs; it stays as long as the files that were not used yet.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>
#include <vector>

#include "core/messages.h"
#include "store/store.h"

namespace kq::broker {

class BlobCache {
 public:
  static constexpr std::size_t kBytesMax = 64u << 20;
  static constexpr std::size_t kUsedBytesMax = 2u << 20;  // of files that were used once

  // Adds a blob that is in the store or among the writes of this turn. It stays at least until the next shrink().
  const Blob& put(Blob blob);
  bool has(const Hash& hash) const { return places_.contains(hash); }

  // Returns the blob from memory or from the store, or null. The pointer is valid until the next call.
  Expected<const Blob*> find(const store::Store& store, const Hash& hash);

  // Reads those of the blobs that the store has, as if by put(). One call is cheaper than a find() for each.
  Expected<void> read(const store::Store& store, const std::vector<Hash>& hashes);

  // Drops a blob that is no longer in the store.
  void forget(const Hash& hash);

  // Drops the least recently used blobs beyond the two limits. Called at the beginning of a turn, when every blob that
  // was put is on disk.
  void shrink();

  std::size_t size_bytes() const { return kept_.bytes + used_.bytes; }

 private:
  // The key is a SHA-256, so any eight of its bytes serve as a hash.
  struct KeyHash {
    std::size_t operator()(const Hash& hash) const;
  };
  struct Entry {
    Blob blob;
    bool is_used = false;    // used once: the entry is in used_
    bool is_shared = false;  // used more than once
  };
  struct Entries {
    std::list<Entry> list;  // the most recently used first
    std::size_t bytes = 0;
  };
  using Place = std::list<Entry>::iterator;

  Entries& entries_of(const Entry& entry) { return entry.is_used ? used_ : kept_; }
  void to_front_of(Entries& entries, Place place);
  void drop(Place place);

  Entries kept_;
  Entries used_;
  std::unordered_map<Hash, Place, KeyHash> places_;
};

// Reads a blob as the store has it, raw or packed; returns nothing if the store does not have it.
Expected<std::optional<Blob>> read_blob(const store::Store& store, const Hash& hash);
// The write that saves a blob: raw and packed bytes have different keys.
store::Write write_of(const Blob& blob);

}  // namespace kq::broker
