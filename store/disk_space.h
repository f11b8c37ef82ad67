// Room on the disk for what is already on its way: a file that is only there to be given up.
//
// A full disk must not cost results. While there is room, `kept` bytes are held by a file of zeros; when the disk's
// free bytes fall under the low mark, the file is removed and the caller is told that the disk is nearly full, so that
// it refuses new work in words. What is in flight then still finds room. The file is made again when the disk has room
// for it above the low mark and half as much again: between the two marks nothing changes, so that the answer does not
// flutter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/base/error.h"
#include "store/store.h"

namespace kq::store {

struct SpaceMarks {
  std::uint64_t reserve_bytes = 64u << 20;  // some ten thousand results; 0: none
  // What may still come once the mark is passed unseen: what is taken until the next look, into the log and again into
  // tables (broker/shell/loop.h, kSpaceBytes and a turn: some 200 MB), and a flush of every memtable (256 MB,
  // store/rocks/settings.h).
  std::uint64_t low_bytes = 512u << 20;
};

inline constexpr std::string_view kReserveFile = "reserve";  // in the store's directory

class DiskSpace {
 public:
  // Looks once: after it the reserve is there, or given up.
  static Expected<DiskSpace> watch(const std::string& dir, const SpaceMarks& marks);

  Expected<Space> look();
  // Of what is free, what may be taken before the disk is nearly full.
  std::uint64_t spare_bytes(const Space& seen) const {
    return seen.nearly_full ? 0 : seen.free_bytes - std::min(seen.free_bytes, marks_.low_bytes);
  }

 private:
  DiskSpace(std::string dir, const SpaceMarks& marks) : dir_(std::move(dir)), marks_(marks) {}

  std::string dir_;
  SpaceMarks marks_;
  bool nearly_full_ = false;
};

// What a user who is not root may still write on the file system of `dir`.
Expected<std::uint64_t> free_bytes(const std::string& dir);

}  // namespace kq::store
