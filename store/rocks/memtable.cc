#include "store/rocks/memtable.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kq::store {
namespace {

constexpr std::size_t kLeafEntries = 64;
constexpr std::size_t kNeighboursTried = 4;  // entries after the last insertion that are compared before a search
constexpr std::size_t kTagBytes = 8;         // after the user's key: RocksDB's sequence number and type of the write

// The key of an entry. RocksDB lays an entry out as the length of key and tag (a varint), the key, the tag and the
// value. The memtable never reads the value.
struct Key {
  std::string_view user;
  std::uint64_t tag = 0;
  std::uint64_t front = 0;  // front_of(user), if the caller has set it

  static Key of(std::string_view internal) {
    Key key;
    key.user = internal.substr(0, internal.size() - kTagBytes);
    std::memcpy(&key.tag, internal.data() + key.user.size(), kTagBytes);
    return key;
  }
  static Key in(const char* entry) {
    std::uint32_t bytes = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*entry++);
      bytes |= static_cast<std::uint32_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    return of({entry, bytes});
  }
  // Returns the eight bytes after the first `shared_count` bytes as a number. The comparison of these numbers decides
  // most comparisons of keys.
  static std::uint64_t front_of(std::string_view user, std::size_t shared_count) {
    std::uint64_t front = 0;
    std::memcpy(&front, user.data() + shared_count, std::min(user.size() - shared_count, sizeof front));
    return __builtin_bswap64(front);
  }

  // Orders by key; the newest of equal keys comes first.
  bool operator<(const Key& other) const {
    const int order = user.compare(other.user);
    return order != 0 ? order < 0 : tag > other.tag;
  }
};
static_assert(std::endian::native == std::endian::little);

// A sorted array of entries.
struct Leaf {
  std::size_t count = 0;
  std::uint64_t fronts[kLeafEntries];
  const char* entries[kLeafEntries];

  bool is_before(std::size_t i, const Key& key) const {
    if (fronts[i] != key.front) return fronts[i] < key.front;
    return Key::in(entries[i]) < key;
  }
  // Returns the number of entries that come before the key.
  std::size_t place(const Key& key) const {
    std::size_t first = 0;
    for (std::size_t left = count; left > 0;) {
      const std::size_t half = left / 2;
      if (is_before(first + half, key)) {
        first += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    return first;
  }
};

// The memtable: a vector of leaves in order, whose first keys are searched.
class SortedLeaves final : public rocksdb::MemTableRep {
 public:
  explicit SortedLeaves(rocksdb::Allocator* allocator) : MemTableRep(allocator) {}

  void Insert(rocksdb::KeyHandle handle) override {
    const auto* entry = static_cast<const char*>(handle);
    Key key = Key::in(entry);
    shorten_shared_prefix(key.user);
    key.front = Key::front_of(key.user, shared_.size());
    if (leaves_.empty()) {
      add_leaf(0);
    } else if (!is_near_last(key)) {
      last_leaf_ = find_leaf(key);
      last_place_ = leaves_[last_leaf_]->place(key);
    }
    if (leaves_[last_leaf_]->count == kLeafEntries) split();
    Leaf& leaf = *leaves_[last_leaf_];
    const std::size_t after = leaf.count - last_place_;
    std::memmove(leaf.fronts + last_place_ + 1, leaf.fronts + last_place_, after * sizeof *leaf.fronts);
    std::memmove(leaf.entries + last_place_ + 1, leaf.entries + last_place_, after * sizeof *leaf.entries);
    leaf.fronts[last_place_] = key.front;
    leaf.entries[last_place_] = entry;
    ++leaf.count;
    if (last_place_ == 0) fronts_[last_leaf_] = key.front;
    ++version_;
  }

  bool Contains(const char* entry) const override {
    const Key key = Key::in(entry);
    const Place place = find_place(key);
    return is_entry(place) && !(key < Key::in(entry_at(place)));
  }

  std::size_t ApproximateMemoryUsage() override { return bytes_; }

  Iterator* GetIterator(rocksdb::Arena* arena) override {
    if (arena == nullptr) return new Cursor(*this);
    // A caller with an arena destroys the iterator but does not free it. The arena's header is not public, so this
    // object provides the memory and reuses it.
    const std::lock_guard lock(cursors_mutex_);
    if (idle_cursors_.empty()) {
      cursors_.push_back(std::make_unique<CursorMemory>());
      idle_cursors_.push_back(cursors_.back().get());
    }
    CursorMemory* memory = idle_cursors_.back();
    idle_cursors_.pop_back();
    return new (memory->bytes) PooledCursor(*this, memory);
  }

  // MemTableRep::Get calls this without an arena, uses the iterator for one lookup and never frees it (RocksDB 7.8.3,
  // memtable.cc). Therefore each thread has one iterator, which the next lookup reuses.
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override {
    if (arena != nullptr) return GetIterator(arena);
    static thread_local std::optional<Cursor> cursor;
    return &cursor.emplace(*this);
  }

 private:
  // The position of an entry: the indices of its leaf and of the entry in the leaf.
  struct Place {
    std::size_t leaf = 0;
    std::size_t entry = 0;
  };

  // An iterator that keeps its entry when other entries are inserted.
  class Cursor : public Iterator {
   public:
    explicit Cursor(const SortedLeaves& leaves) : leaves_(leaves) {}

    bool Valid() const override { return entry_ != nullptr; }
    const char* key() const override { return entry_; }
    void Next() override {
      find_place_again();
      ++place_.entry;
      if (place_.entry == leaves_.leaves_[place_.leaf]->count) place_ = {place_.leaf + 1, 0};
      load_entry();
    }
    void Prev() override {
      find_place_again();
      step_to_previous();
    }
    void Seek(const rocksdb::Slice& internal, const char* entry) override {
      place_ = leaves_.find_place(entry != nullptr ? Key::in(entry) : Key::of({internal.data(), internal.size()}));
      load_entry();
    }
    void SeekForPrev(const rocksdb::Slice& internal, const char* entry) override {
      const Key key = entry != nullptr ? Key::in(entry) : Key::of({internal.data(), internal.size()});
      Seek(internal, entry);
      if (Valid() && !(key < Key::in(entry_))) return;
      step_to_previous();
    }
    void SeekToFirst() override {
      place_ = {};
      load_entry();
    }
    void SeekToLast() override {
      place_ = {leaves_.leaves_.size(), 0};
      step_to_previous();
    }

   private:
    void find_place_again() {
      if (version_ != leaves_.version_) place_ = leaves_.find_place(Key::in(entry_));
    }
    void step_to_previous() {
      version_ = leaves_.version_;
      entry_ = nullptr;
      if (place_.entry == 0) {
        if (place_.leaf == 0) return;
        --place_.leaf;
        place_.entry = leaves_.leaves_[place_.leaf]->count;
      }
      --place_.entry;
      load_entry();
    }
    void load_entry() {
      version_ = leaves_.version_;
      entry_ = leaves_.is_entry(place_) ? leaves_.entry_at(place_) : nullptr;
    }

    const SortedLeaves& leaves_;
    Place place_;
    const char* entry_ = nullptr;
    std::uint64_t version_ = 0;
  };

  struct CursorMemory {
    alignas(std::max_align_t) unsigned char bytes[sizeof(Cursor) + 64];
  };
  // Returns the memory of a PooledCursor to the pool. It is the first base class, so it is destroyed last, when the
  // memory may be used again.
  class MemoryReturn {
   public:
    MemoryReturn(SortedLeaves& owner, CursorMemory* memory) : owner_(owner), memory_(memory) {}
    ~MemoryReturn() {
      const std::lock_guard lock(owner_.cursors_mutex_);
      owner_.idle_cursors_.push_back(memory_);
    }

   private:
    SortedLeaves& owner_;
    CursorMemory* memory_;
  };
  class PooledCursor final : private MemoryReturn, public Cursor {
   public:
    PooledCursor(SortedLeaves& leaves, CursorMemory* memory) : MemoryReturn(leaves, memory), Cursor(leaves) {}
  };
  static_assert(sizeof(PooledCursor) <= sizeof(CursorMemory));

  bool is_entry(const Place& place) const {
    return place.leaf < leaves_.size() && place.entry < leaves_[place.leaf]->count;
  }
  const char* entry_at(const Place& place) const { return leaves_[place.leaf]->entries[place.entry]; }

  // Returns whether the key belongs shortly after the entry inserted last, and if so sets last_place_ to its place. A
  // few entries are tried, because older versions of both keys may lie between them.
  bool is_near_last(const Key& key) {
    const Leaf& leaf = *leaves_[last_leaf_];
    if (last_place_ >= leaf.count || !leaf.is_before(last_place_, key)) return false;
    for (std::size_t next = last_place_ + 1; next <= last_place_ + kNeighboursTried; ++next) {
      const bool fits = next < leaf.count
                            ? !leaf.is_before(next, key)
                            : last_leaf_ + 1 == leaves_.size() || !leaves_[last_leaf_ + 1]->is_before(0, key);
      if (fits) last_place_ = next;
      if (fits || next == leaf.count) return fits;
    }
    return false;
  }

  // Returns the last leaf whose first entry comes before the key, or the first leaf if there is none.
  std::size_t find_leaf(const Key& key) const {
    std::size_t first = 0;  // in the end, the first leaf that does not begin before the key
    for (std::size_t left = leaves_.size(); left > 0;) {
      const std::size_t half = left / 2;
      const std::size_t i = first + half;
      const bool before = fronts_[i] != key.front ? fronts_[i] < key.front : leaves_[i]->is_before(0, key);
      if (before) {
        first += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    return first == 0 ? 0 : first - 1;
  }

  // Returns the place of the first entry that does not come before the key.
  Place find_place(Key key) const {
    if (leaves_.empty()) return {};
    // A key without the shared prefix comes before or after all entries.
    if (const int order = key.user.substr(0, shared_.size()).compare(shared_); order != 0)
      return {order < 0 ? 0 : leaves_.size(), 0};
    key.front = Key::front_of(key.user, shared_.size());
    const std::size_t leaf = find_leaf(key);
    const std::size_t entry = leaves_[leaf]->place(key);
    return entry == leaves_[leaf]->count ? Place{leaf + 1, 0} : Place{leaf, entry};
  }

  // Shortens the shared prefix so that it is a prefix of this key too, and computes all fronts again if it changed.
  // That is rare, because the keys of one lane or run have the same prefix.
  void shorten_shared_prefix(std::string_view user) {
    if (leaves_.empty()) shared_ = user;
    const auto matching =
        std::mismatch(shared_.begin(), shared_.end(), user.begin(), user.end()).first - shared_.begin();
    const auto prefix_size = static_cast<std::size_t>(matching);
    if (prefix_size == shared_.size()) return;
    shared_.resize(prefix_size);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      Leaf& leaf = *leaves_[i];
      for (std::size_t j = 0; j < leaf.count; ++j)
        leaf.fronts[j] = Key::front_of(Key::in(leaf.entries[j]).user, prefix_size);
      fronts_[i] = leaf.fronts[0];
    }
  }

  void add_leaf(std::size_t i) {
    leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(i), std::make_unique<Leaf>());
    fronts_.insert(fronts_.begin() + static_cast<std::ptrdiff_t>(i), 0);
    bytes_ += sizeof(Leaf) + sizeof(std::uint64_t) + sizeof(std::unique_ptr<Leaf>);
  }

  // Splits the full leaf into which the next entry belongs. If the entry comes after all others, it begins a new leaf,
  // so that keys that arrive in order fill their leaves.
  void split() {
    add_leaf(last_leaf_ + 1);
    Leaf& full = *leaves_[last_leaf_];
    Leaf& next = *leaves_[last_leaf_ + 1];
    const bool is_last = last_leaf_ + 2 == leaves_.size() && last_place_ == full.count;
    const std::size_t kept = is_last ? full.count : full.count / 2;
    next.count = full.count - kept;
    std::copy_n(full.fronts + kept, next.count, next.fronts);
    std::copy_n(full.entries + kept, next.count, next.entries);
    full.count = kept;
    fronts_[last_leaf_ + 1] = next.fronts[0];
    if (last_place_ < kept || (last_place_ == kept && !is_last)) return;
    ++last_leaf_;
    last_place_ -= kept;
  }

  std::string shared_;                         // a prefix of every key
  std::vector<std::unique_ptr<Leaf>> leaves_;  // no leaf is empty
  std::vector<std::uint64_t> fronts_;          // the front of the first entry of each leaf
  std::size_t last_leaf_ = 0;                  // where the last entry was inserted
  std::size_t last_place_ = 0;
  std::uint64_t version_ = 0;  // counts insertions
  std::atomic<std::size_t> bytes_ = 0;
  std::mutex cursors_mutex_;
  std::vector<std::unique_ptr<CursorMemory>> cursors_;
  std::vector<CursorMemory*> idle_cursors_;
};

class Factory final : public rocksdb::MemTableRepFactory {
 public:
  using MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator&, rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform*, rocksdb::Logger*) override {
    return new SortedLeaves(allocator);
  }
  const char* Name() const override { return "kq.SortedLeaves"; }
};

}  // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> sorted_leaves() {
  return std::make_shared<Factory>();
}

}  // namespace kq::store
