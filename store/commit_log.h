// The log of the commits of a store, as a second broker follows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace kq::store {

// One commit as it stands in the log. Every change of a commit has a number, and the numbers have no gap.
struct LogRecord {
  std::uint64_t first = 0;  // number of the first change
  std::uint64_t last = 0;   // number of the last change
  std::string bytes;

  friend bool operator==(const LogRecord&, const LogRecord&) = default;
};

// What CommitLog::read() returns.
struct LogSlice {
  bool is_gap = false;  // the log no longer holds the commit that was asked for
  std::vector<LogRecord> records = {};
};

// The commits of one store. Two stores with the same position that had the same commits before it are equal.
class CommitLog {
 public:
  virtual ~CommitLog() = default;

  // Returns the number of the last change of the store.
  virtual std::uint64_t position() const = 0;

  // Returns the commits after the change `after`, until they have `bytes_max` bytes; at least one commit if there is
  // one.
  virtual Expected<LogSlice> read(std::uint64_t after, std::size_t bytes_max) = 0;

  // Applies commits of another store, the first of which follows position(), and syncs them once. After an error the
  // caller must end the process, as after Store::commit().
  virtual Expected<void> append(std::span<const LogRecord> records) = 0;
};

}  // namespace kq::store
