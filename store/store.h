// The port to the disk: ordered keys in families, one atomic durable commit. Two implementations, one contract test
// over both.
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

// What lives where; values are described in core/records.h, keys in store/keys.h. A store that lacks a family gets it
// when it is opened for writing, so a new one goes to the end and needs no migration.
enum class Family { meta, state, ids, body, result, samples, blob, run, board, queue, timer, dead, reuse, object };
constexpr std::array<std::string_view, 14> enum_names(Family) {
  return {"meta", "state", "ids",   "body",  "result", "samples", "blob",
          "run",  "board", "queue", "timer", "dead",   "reuse",   "object"};
}

// Puts a key; without a value removes it, or with an end every key in [key, end).
struct Write {
  Family family;
  std::string key;
  std::optional<std::string> value;
  std::string end =
      {};  // empty: `key` alone is meant; an end at or before `key` removes nothing; with a value it is not read

  friend bool operator==(const Write&, const Write&) = default;
};

// What the disk has left for a store.
struct Space {
  std::uint64_t free_bytes = std::numeric_limits<std::uint64_t>::max();
  bool nearly_full = false;  // what comes in must be refused, so that what is on its way out still has room

  friend bool operator==(const Space&, const Space&) = default;
};

// Owned by one broker process. Tools open it read-only when no broker is running.
class Store {
 public:
  virtual ~Store() = default;

  // All writes or none, in their order, on disk when this returns. After an error nothing may be acknowledged and the
  // process ends: what the disk holds is known again only when the store is opened anew. Until then every commit fails
  // with the same words.
  virtual Expected<void> commit(std::span<const Write> writes) = 0;

  virtual Expected<std::optional<std::string>> get(Family family, std::string_view key) const = 0;

  // One answer per key, in their order: cheaper than as many calls of get.
  using Values = std::vector<std::optional<std::string>>;
  virtual Expected<Values> get_many(Family family, std::span<const std::string> keys) const;

  // Visits keys in [first, end) in byte order until `visit` returns false. An empty `end` means no upper bound. Whoever
  // takes from the front and removes what he took passes the place he has reached: a walk over removed keys costs as
  // much as over present ones.
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;
  virtual Expected<void> scan(Family family, std::string_view first, std::string_view end,
                              const Visit& visit) const = 0;

  // What follows has an answer for stores without a disk.

  // Removes every key in [first, end), durably, and gives the disk its room back: for long ranges that are finished,
  // seldom. Costs a flush of the family. A removal that must be atomic with other writes is a Write.
  virtual Expected<void> drop(Family family, std::string_view first, std::string_view end);

  // Makes `dir` a store of its own with what is committed now; the parent of `dir` exists, `dir` does not. Files are
  // shared by hard links where `dir` is on the same file system. Commits may go on meanwhile in another thread.
  virtual Expected<void> checkpoint(const std::string& dir);

  // Cheap enough for every 32 MB and every second. Not const: room kept in reserve is given up and taken again here,
  // and room that removed values still take up begins to come back.
  virtual Expected<Space> space();
};

}  // namespace kq::store
