// Computes CRC32C (Castagnoli polynomial, RFC 3720 appendix B.4).
//
// The checksum is the one that RocksDB writes into its logs. wal_tail.h checks the records of a log with it, because
// RocksDB does not export its own function.
#pragma once

#include <cstdint>
#include <string_view>

namespace kq::store {

// Returns the checksum of `bytes` appended to the text whose checksum is `crc`. The checksum of an empty text is 0.
std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes);

}  // namespace kq::store
