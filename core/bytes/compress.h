// Compression of files. The sender of a file compresses it once, and it stays compressed in messages and in the store.
//
// kq compresses with LZ4, which for a source of 4 KB is faster than zstd and compresses a little less. Clients in other
// languages may send zstd frames. A Compressor and a Decompressor keep their working memory between files, because its
// allocation takes longer than a small file. Neither is thread-safe: each thread needs its own. Only compress.cc
// includes the headers of the libraries.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"
#include "core/base/error.h"

namespace kq {

// The form of a file in messages and in the store. `zstd`: one frame that has the size of its content. `lz4`: the size
// of the content in four big-endian bytes, and then one block.
enum class Packing { raw, zstd, lz4 };
constexpr std::array<std::string_view, 3> enum_names(Packing) {
  return {"raw", "zstd", "lz4"};
}

// Returns the size of the content as the packed bytes state it, or 0 where they do not. The size may be wrong, and
// Decompressor checks it.
std::size_t content_bytes(Packing packing, std::string_view packed);

class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  // Returns the content packed by LZ4, or nothing where that would not be smaller than the content.
  std::optional<std::string> compress(std::string_view content);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(Decompressor&&) noexcept;
  Decompressor& operator=(Decompressor&&) noexcept;

  // Returns the content of exactly one frame or block. The bytes may be hostile, and the function never allocates or
  // writes more than `bytes_max`. Fails with bad input where the bytes are malformed or the content is larger.
  Expected<std::string> decompress(Packing packing, std::string_view packed, std::size_t bytes_max);
  // Does the same without a copy for the caller. The view is valid until the next call.
  Expected<std::string_view> view(Packing packing, std::string_view packed, std::size_t bytes_max);

 private:
  Expected<std::string_view> of_lz4(std::string_view packed, std::size_t bytes_max);
  Expected<std::string_view> of_zstd(std::string_view frame, std::size_t bytes_max);
  char* room_for(std::size_t bytes);
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace kq
