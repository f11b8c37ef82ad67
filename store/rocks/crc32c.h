// Computes CRC32C (Castagnoli polynomial, RFC 3720 appendix B.4) with the processor's instruction if it has one.
//
// Debian's RocksDB is built without that instruction and computes its checksums from tables, which takes a tenth of a
// broker's time. The linker's --wrap (store/CMakeLists.txt) makes RocksDB call this function instead.
#pragma once

#include <cstdint>
#include <string_view>

namespace kq::store {

// The checksum of what `crc` is the checksum of, followed by `bytes`; 0 for nothing.
std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes);

// The same from a table: what crc32c() does on a processor without the instruction.
std::uint32_t crc32c_by_table(std::uint32_t crc, std::string_view bytes);

}  // namespace kq::store
