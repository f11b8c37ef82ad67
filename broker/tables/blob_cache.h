// The files that jobs need, near at hand: most jobs are leased soon after they came, and many share a problem.
//
// A file that one job asked for is hardly ever asked for again: few of these are kept, so that the next ones lie where
// the processor's caches have the memory of those before them. One that is asked for twice is shared, and stays as
// those that nobody has asked for yet.
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
  static constexpr std::size_t kAskedBytesMax = 2u << 20;  // of those that were asked for once

  // A blob that is in the store with the writes of this turn. It stays at least until the next shrink().
  const Blob& put(Blob blob);
  bool has(const Hash& hash) const { return places_.contains(hash); }

  // From RAM or from the store, or null. Good until the next call.
  Expected<const Blob*> find(const store::Store& store, const Hash& hash);

  // Brings those of them here that the store has: cheaper than as many calls of find(). They stay as what was put.
  Expected<void> read(const store::Store& store, const std::vector<Hash>& hashes);

  // It is no longer in the store.
  void forget(const Hash& hash);

  // Forgets down to the two bounds what was not used for longest. At the beginning of a turn, when all that was put is
  // on disk.
  void shrink();

  std::size_t size_bytes() const { return kept_.bytes + asked_.bytes; }

 private:
  // A key is a SHA-256: any eight of its bytes are a hash already.
  struct KeyHash {
    std::size_t operator()(const Hash& hash) const;
  };
  struct Entry {
    Blob blob;
    bool is_asked = false;   // once: it is among asked_
    bool is_shared = false;  // more than once
  };
  struct Entries {
    std::list<Entry> list;  // the one used last in front
    std::size_t bytes = 0;
  };
  using Place = std::list<Entry>::iterator;

  Entries& entries_of(const Entry& entry) { return entry.is_asked ? asked_ : kept_; }
  void to_front_of(Entries& entries, Place place);
  void drop(Place place);

  Entries kept_;
  Entries asked_;
  std::unordered_map<Hash, Place, KeyHash> places_;
};

// Reads a blob as it lies in the store; nothing if it is not there.
Expected<std::optional<Blob>> read_blob(const store::Store& store, const Hash& hash);
// Where it lies: raw bytes under its hash, packed ones beside it.
store::Write write_of(const Blob& blob);

}  // namespace kq::broker
