// Keeps disk space in reserve for results of jobs that are already running.
//
// A full disk must not lose results. While the disk has space, a file of zeros holds the reserve. When the free bytes
// fall below the low mark, the file is removed and the caller learns that the disk is nearly full, so that it refuses
// new work with a reason; results still have space. The file is made again when the disk has space for it and one and a
// half times the low mark. Between the two marks nothing changes, so that the state does not flap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/base/error.h"
#include "store/store.h"

namespace kq::store {

// The limits of DiskSpace, in bytes.
struct SpaceMarks {
  std::uint64_t reserve_bytes = 64u << 20;  // about ten thousand results; 0 means no reserve
  // The bytes that may still be written after the mark has been passed unnoticed: the writes until the next call of
  // measure(), once to the log and once to tables (broker/shell/loop.h, kSpaceBytes and a turn: about 200 MB), and a
  // flush of every memtable (256 MB, store/rocks/settings.h).
  std::uint64_t low_bytes = 512u << 20;
};

inline constexpr std::string_view kReserveFile = "reserve";  // in the store's directory

// Measures the free space of one directory and keeps its reserve.
class DiskSpace {
 public:
  // Measures the free space once and makes the reserve or gives it up.
  static Expected<DiskSpace> watch(const std::string& dir, const SpaceMarks& marks);

  // Measures the free space, makes the reserve or gives it up, and returns what it found.
  Expected<Space> measure();
  // Returns how many bytes may be written before the disk is nearly full.
  std::uint64_t spare_bytes(const Space& seen) const {
    return seen.nearly_full ? 0 : seen.free_bytes - std::min(seen.free_bytes, marks_.low_bytes);
  }

 private:
  DiskSpace(std::string dir, const SpaceMarks& marks) : dir_(std::move(dir)), marks_(marks) {}

  std::string dir_;
  SpaceMarks marks_;
  bool nearly_full_ = false;
};

// Returns the bytes that a user other than root may still write to the file system of `dir`.
Expected<std::uint64_t> free_bytes(const std::string& dir);

}  // namespace kq::store
