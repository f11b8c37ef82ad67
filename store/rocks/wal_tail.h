// How a log of RocksDB ends: its write-ahead logs and its MANIFEST have one format.
//
// A log is blocks of 32 KB; a record is one fragment (full) or several (first, middle, last), each with a checksum, its
// length and its type, none across a block's end. kq syncs every commit before the next one begins. So when the power
// goes, at most the last record can be torn, in any way a disk tears: cut short, or with some sectors there and others
// not. RocksDB takes the first for what it is and calls the second corruption, which would keep a broker from starting
// after a mere loss of power. And where a page of zeros begins at a fragment, it skips to the next block without a
// word. Here both are told apart from damage: after a torn record no other record begins, after damage there may be
// commits that were acknowledged. Zeros up to the end of the file are room (rocks_store_room.h).
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace kq::store {

enum class LogEnding {
  whole,    // every record is there, or the last one stops at the end of the file, or room follows: RocksDB reads it
            // right
  torn,     // from good_bytes on it is the wreck of one record, which was never acknowledged
  damaged,  // what follows good_bytes is broken, and records begin behind it
};

struct LogState {
  LogEnding ending = LogEnding::whole;
  std::uint64_t good_bytes = 0;  // up to here every record is complete

  friend bool operator==(const LogState&, const LogState&) = default;
};

enum class LogCheck {
  headers,    // finds pages of zeros, and reads little else
  checksums,  // finds every damage: some half a second for a full log
};

Expected<LogState> look_at_log(const std::string& path, LogCheck check);

// The write-ahead log in `dir` with the highest number, which RocksDB writes with six digits, and with more from a
// million on. Empty: there is none.
std::string newest_log(const std::string& dir);

}  // namespace kq::store
