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
constexpr std::size_t kNear = 4;      // entries looked at before a search
constexpr std::size_t kTagBytes = 8;  // behind the user's key: RocksDB's number of the write, and its kind

// An entry as RocksDB lays it out: the length of the key as a varint, the key, its tag, and the value, which nobody
// here looks at.
struct Key {
  std::string_view user;
  std::uint64_t tag = 0;
  std::uint64_t front = 0;  // of `user`, where it was asked for

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
  // The eight bytes behind the first `shared_n`, as a number: these decide most comparisons.
  static std::uint64_t front_of(std::string_view user, std::size_t shared_n) {
    std::uint64_t front = 0;
    std::memcpy(&front, user.data() + shared_n, std::min(user.size() - shared_n, sizeof front));
    return __builtin_bswap64(front);
  }

  // Of equal keys the one written last comes first.
  bool operator<(const Key& other) const {
    const int order = user.compare(other.user);
    return order != 0 ? order < 0 : tag > other.tag;
  }
};
static_assert(std::endian::native == std::endian::little);

struct Leaf {
  std::size_t n = 0;
  std::uint64_t fronts[kLeafEntries];
  const char* entries[kLeafEntries];

  bool is_before(std::size_t i, const Key& key) const {
    if (fronts[i] != key.front) return fronts[i] < key.front;
    return Key::in(entries[i]) < key;
  }
  // How many entries come before the key.
  std::size_t place(const Key& key) const {
    std::size_t first = 0;
    for (std::size_t left = n; left > 0;) {
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

class SortedLeaves final : public rocksdb::MemTableRep {
 public:
  explicit SortedLeaves(rocksdb::Allocator* allocator) : MemTableRep(allocator) {}

  void Insert(rocksdb::KeyHandle handle) override {
    const auto* entry = static_cast<const char*>(handle);
    Key key = Key::in(entry);
    share(key.user);
    key.front = Key::front_of(key.user, shared_.size());
    if (leaves_.empty()) {
      add_leaf(0);
    } else if (!is_beside_last(key)) {
      last_leaf_ = leaf_of(key);
      last_place_ = leaves_[last_leaf_]->place(key);
    }
    if (leaves_[last_leaf_]->n == kLeafEntries) split();
    Leaf& leaf = *leaves_[last_leaf_];
    const std::size_t behind = leaf.n - last_place_;
    std::memmove(leaf.fronts + last_place_ + 1, leaf.fronts + last_place_, behind * sizeof *leaf.fronts);
    std::memmove(leaf.entries + last_place_ + 1, leaf.entries + last_place_, behind * sizeof *leaf.entries);
    leaf.fronts[last_place_] = key.front;
    leaf.entries[last_place_] = entry;
    ++leaf.n;
    if (last_place_ == 0) fronts_[last_leaf_] = key.front;
    ++version_;
  }

  bool Contains(const char* entry) const override {
    const Key key = Key::in(entry);
    const Place place = place_of(key);
    return is_entry(place) && !(key < Key::in(entry_at(place)));
  }

  std::size_t ApproximateMemoryUsage() override { return bytes_; }

  Iterator* GetIterator(rocksdb::Arena* arena) override {
    if (arena == nullptr) return new Walk(*this);
    // Whoever brings an arena destroys the iterator and never frees it. The arena's own header is not public, so its
    // memory is kept here.
    const std::lock_guard lock(walks_mutex_);
    if (idle_walks_.empty()) {
      walks_.push_back(std::make_unique<WalkMemory>());
      idle_walks_.push_back(walks_.back().get());
    }
    WalkMemory* memory = idle_walks_.back();
    idle_walks_.pop_back();
    return new (memory->bytes) KeptWalk(*this, memory);
  }

  // MemTableRep::Get asks for one without an arena, for a single look, and never frees it, 48 bytes for each
  // (RocksDB 7.8.3, memtable.cc). So each thread has one, which is its next look's again.
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override {
    if (arena != nullptr) return GetIterator(arena);
    static thread_local std::optional<Walk> look;
    return &look.emplace(*this);
  }

 private:
  struct Place {
    std::size_t leaf = 0;
    std::size_t entry = 0;
  };

  // Stays where it is when something is written meanwhile.
  class Walk : public Iterator {
   public:
    explicit Walk(const SortedLeaves& leaves) : leaves_(leaves) {}

    bool Valid() const override { return entry_ != nullptr; }
    const char* key() const override { return entry_; }
    void Next() override {
      find_again();
      ++place_.entry;
      if (place_.entry == leaves_.leaves_[place_.leaf]->n) place_ = {place_.leaf + 1, 0};
      take();
    }
    void Prev() override {
      find_again();
      step_back();
    }
    void Seek(const rocksdb::Slice& internal, const char* entry) override {
      place_ = leaves_.place_of(entry != nullptr ? Key::in(entry) : Key::of({internal.data(), internal.size()}));
      take();
    }
    void SeekForPrev(const rocksdb::Slice& internal, const char* entry) override {
      const Key key = entry != nullptr ? Key::in(entry) : Key::of({internal.data(), internal.size()});
      Seek(internal, entry);
      if (Valid() && !(key < Key::in(entry_))) return;
      step_back();
    }
    void SeekToFirst() override {
      place_ = {};
      take();
    }
    void SeekToLast() override {
      place_ = {leaves_.leaves_.size(), 0};
      step_back();
    }

   private:
    void find_again() {
      if (version_ != leaves_.version_) place_ = leaves_.place_of(Key::in(entry_));
    }
    void step_back() {
      version_ = leaves_.version_;
      entry_ = nullptr;
      if (place_.entry == 0) {
        if (place_.leaf == 0) return;
        --place_.leaf;
        place_.entry = leaves_.leaves_[place_.leaf]->n;
      }
      --place_.entry;
      take();
    }
    void take() {
      version_ = leaves_.version_;
      entry_ = leaves_.is_entry(place_) ? leaves_.entry_at(place_) : nullptr;
    }

    const SortedLeaves& leaves_;
    Place place_;
    const char* entry_ = nullptr;
    std::uint64_t version_ = 0;
  };

  struct WalkMemory {
    alignas(std::max_align_t) unsigned char bytes[sizeof(Walk) + 64];
  };
  // Of a KeptWalk destroyed last: from then on another may be made in its place.
  class Lease {
   public:
    Lease(SortedLeaves& owner, WalkMemory* memory) : owner_(owner), memory_(memory) {}
    ~Lease() {
      const std::lock_guard lock(owner_.walks_mutex_);
      owner_.idle_walks_.push_back(memory_);
    }

   private:
    SortedLeaves& owner_;
    WalkMemory* memory_;
  };
  class KeptWalk final : private Lease, public Walk {
   public:
    KeptWalk(SortedLeaves& leaves, WalkMemory* memory) : Lease(leaves, memory), Walk(leaves) {}
  };
  static_assert(sizeof(KeptWalk) <= sizeof(WalkMemory));

  bool is_entry(const Place& place) const {
    return place.leaf < leaves_.size() && place.entry < leaves_[place.leaf]->n;
  }
  const char* entry_at(const Place& place) const { return leaves_[place.leaf]->entries[place.entry]; }

  // Whether the key goes close behind the one inserted last; then last_place_ is where. Between the two there may be
  // older versions of both.
  bool is_beside_last(const Key& key) {
    const Leaf& leaf = *leaves_[last_leaf_];
    if (last_place_ >= leaf.n || !leaf.is_before(last_place_, key)) return false;
    for (std::size_t next = last_place_ + 1; next <= last_place_ + kNear; ++next) {
      const bool fits = next < leaf.n ? !leaf.is_before(next, key)
                                      : last_leaf_ + 1 == leaves_.size() || !leaves_[last_leaf_ + 1]->is_before(0, key);
      if (fits) last_place_ = next;
      if (fits || next == leaf.n) return fits;
    }
    return false;
  }

  // The last leaf that begins before the key, or the first one.
  std::size_t leaf_of(const Key& key) const {
    std::size_t first = 0;  // of those that do not begin before it
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

  // Of the first entry that does not come before the key.
  Place place_of(Key key) const {
    if (leaves_.empty()) return {};
    // A key that does not begin as all do is before or behind all.
    if (const int order = key.user.substr(0, shared_.size()).compare(shared_); order != 0)
      return {order < 0 ? 0 : leaves_.size(), 0};
    key.front = Key::front_of(key.user, shared_.size());
    const std::size_t leaf = leaf_of(key);
    const std::size_t entry = leaves_[leaf]->place(key);
    return entry == leaves_[leaf]->n ? Place{leaf + 1, 0} : Place{leaf, entry};
  }

  // Keys of one lane or run begin alike. Where one begins otherwise, which is seldom, every front is made anew.
  void share(std::string_view user) {
    if (leaves_.empty()) shared_ = user;
    const auto alike = std::mismatch(shared_.begin(), shared_.end(), user.begin(), user.end()).first - shared_.begin();
    const auto alike_n = static_cast<std::size_t>(alike);
    if (alike_n == shared_.size()) return;
    shared_.resize(alike_n);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      Leaf& leaf = *leaves_[i];
      for (std::size_t j = 0; j < leaf.n; ++j) leaf.fronts[j] = Key::front_of(Key::in(leaf.entries[j]).user, alike_n);
      fronts_[i] = leaf.fronts[0];
    }
  }

  void add_leaf(std::size_t i) {
    leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(i), std::make_unique<Leaf>());
    fronts_.insert(fronts_.begin() + static_cast<std::ptrdiff_t>(i), 0);
    bytes_ += sizeof(Leaf) + sizeof(std::uint64_t) + sizeof(Leaf*);
  }

  // Makes room at the place where the next entry goes. Behind all others it begins a leaf of its own: keys that come in
  // their order fill theirs.
  void split() {
    add_leaf(last_leaf_ + 1);
    Leaf& full = *leaves_[last_leaf_];
    Leaf& next = *leaves_[last_leaf_ + 1];
    const bool is_last = last_leaf_ + 2 == leaves_.size() && last_place_ == full.n;
    const std::size_t kept = is_last ? full.n : full.n / 2;
    next.n = full.n - kept;
    std::copy_n(full.fronts + kept, next.n, next.fronts);
    std::copy_n(full.entries + kept, next.n, next.entries);
    full.n = kept;
    fronts_[last_leaf_ + 1] = next.fronts[0];
    if (last_place_ < kept || (last_place_ == kept && !is_last)) return;
    ++last_leaf_;
    last_place_ -= kept;
  }

  std::string shared_;                         // how every key begins
  std::vector<std::unique_ptr<Leaf>> leaves_;  // none empty
  std::vector<std::uint64_t> fronts_;          // of the first entry of each
  std::size_t last_leaf_ = 0;                  // where the last entry was inserted
  std::size_t last_place_ = 0;
  std::uint64_t version_ = 0;  // counts insertions
  std::atomic<std::size_t> bytes_ = 0;
  std::mutex walks_mutex_;
  std::vector<std::unique_ptr<WalkMemory>> walks_;
  std::vector<WalkMemory*> idle_walks_;
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
