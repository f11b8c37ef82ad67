// Checks the tail of a RocksDB log. Write-ahead logs and the MANIFEST have the same format.
//
// A log consists of blocks of 32 KB. A record is one fragment (full) or several (first, middle, last); each fragment
// has a checksum, a length and a type, and none crosses the end of a block. kq syncs every commit before the next one
// begins. Therefore a loss of power can tear at most the last record: it may be cut short, or some of its sectors may
// be missing. RocksDB recognises a record that is cut short, but treats missing sectors as corruption, which would keep
// a broker from starting after a mere loss of power. If a page of zeros begins at a fragment, RocksDB skips to the next
// block silently. This check tells both cases from damage: no record begins after a torn record, while acknowledged
// commits may follow damage. Zeros up to the end of the file are preallocated space, which kq 0.1.0 wrote.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace kq::store {

// The state of a log's tail.
enum class WalTail {
  // RocksDB reads the log correctly: every record is complete, or the last one is cut off by the end of the file, or
  // preallocated space follows.
  whole,
  torn,     // the bytes after good_bytes are one torn record, which was never acknowledged
  damaged,  // the bytes after good_bytes are broken, and further records follow
};

// The tail of a log, and the offset at which it begins.
struct WalState {
  WalTail tail = WalTail::whole;
  std::uint64_t good_bytes = 0;  // every record up to here is complete

  friend bool operator==(const WalState&, const WalState&) = default;
};

// How much of a log check_wal_tail() reads.
enum class WalCheck {
  headers,    // finds pages of zeros and reads little more than the headers
  checksums,  // finds all damage; takes about half a second for a full log
};

// Reads the log at `path` and returns the state of its tail, or an our_fault error if the log cannot be read.
Expected<WalState> check_wal_tail(const std::string& path, WalCheck check);

// Returns the path of the write-ahead log in `dir` with the highest number, or an empty text if there is none. RocksDB
// writes the numbers with at least six digits.
std::string newest_log(const std::string& dir);

}  // namespace kq::store
