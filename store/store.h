// The interface to the disk: ordered keys in families, and one atomic durable commit. There are two implementations,
// and one contract test runs over both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/error.h"

namespace kq::store {

class CommitLog;

// The families of keys. core/records.h describes the values, store/keys.h the keys. A store that lacks a family gets it
// when it is opened for writing, so a new family is appended here and needs no migration.
enum class Family {
  meta,
  state,
  ids,
  body,
  result,
  samples,
  blob,
  run,
  board,
  queue,
  timer,
  dead,
  reuse,
  object,
  sender,
  owner,
  kernel
};
constexpr std::array<std::string_view, 17> enum_names(Family) {
  return {"meta",  "state", "ids",  "body",  "result", "samples", "blob",  "run",   "board",
          "queue", "timer", "dead", "reuse", "object", "sender",  "owner", "kernel"};
}

// Sets the value of a key. Without a value it removes the key, or, if `end` is set, every key in [key, end).
struct Write {
  Family family;
  std::string key;
  std::optional<std::string> value;
  std::string end =
      {};  // empty: `key` alone is meant; an end at or before `key` removes nothing; with a value it is not read

  friend bool operator==(const Write&, const Write&) = default;
};

// The space that the disk has left for a store.
struct Space {
  std::uint64_t free_bytes = std::numeric_limits<std::uint64_t>::max();
  bool nearly_full = false;  // new work must be refused, so that results still have space

  friend bool operator==(const Space&, const Space&) = default;
};

// An ordered store of keys and values. One broker process owns it; tools open it read-only.
class Store {
 public:
  virtual ~Store() = default;

  // Applies all writes in their order, or none; they are on disk when this returns. After an error the caller must not
  // acknowledge anything and must end the process: only reopening the store shows what is on disk. Until then every
  // commit fails with the same message.
  virtual Expected<void> commit(std::span<const Write> writes) = 0;

  virtual Expected<std::optional<std::string>> get(Family family, std::string_view key) const = 0;

  // Returns one value per key, in the order of `keys`. This is cheaper than one call of get() per key.
  using Values = std::vector<std::optional<std::string>>;
  virtual Expected<Values> get_many(Family family, std::span<const std::string> keys) const;

  // Visits keys in [first, end) in byte order until `visit` returns false. An empty `end` means no upper bound. A
  // caller that consumes and removes keys from the front should pass the place that it has reached as `first`, because
  // walking over removed keys costs as much as over existing ones.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;
  virtual Expected<void> scan(Family family, std::string_view first, std::string_view end,
                              const Visit& visit) const = 0;

  // The functions below have default implementations for stores without a disk.

  // Removes every key in [first, end) durably and returns the space to the disk. This is meant for rare removals of
  // long finished ranges, because it flushes the family. A removal that must be atomic with other writes is a Write.
  virtual Expected<void> drop(Family family, std::string_view first, std::string_view end);

  // Makes `dir` a store with everything committed so far. The parent of `dir` must exist and `dir` must not. Files are
  // shared by hard links if `dir` is on the same file system. Other threads may commit meanwhile.
  virtual Expected<void> checkpoint(const std::string& dir);

  // Returns the space that the disk has left. Cheap enough for a call every 32 MB and every second. Not const, because
  // the call gives up or takes the reserve and starts the collection of space of removed values.
  virtual Expected<Space> space();

  // Returns the log of this store's commits, which lives as long as the store, or null if the store has none.
  virtual CommitLog* commit_log() { return nullptr; }
};

}  // namespace kq::store
