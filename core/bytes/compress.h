// Files made small once by whoever has them, and left so on every wire and in the store.
//
// LZ4 is what kq packs with: a source of 4 KB shrinks a little less than by zstd, in half the time, and is unpacked in
// a third of it, twice on its way. zstd is what clients in other languages have at hand. Both classes keep their
// working memory from one file to the next: making that anew would cost more than a small file. Not thread-safe: one
// per thread. compress.cc alone knows the libraries.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"
#include "core/base/error.h"

namespace kq {

// How the bytes of a file travel and rest. `zstd`: one frame that names its content's size. `lz4`: the content's size
// in four bytes, big-endian, then one block.
enum class Packing { raw, zstd, lz4 };
constexpr std::array<std::string_view, 3> enum_names(Packing) {
  return {"raw", "zstd", "lz4"};
}

// How long the content says that it is; 0 where it does not say. Not believed by who unpacks it.
std::size_t content_bytes(Packing packing, std::string_view packed);

class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  // By LZ4, or nothing where that would not be smaller than the content.
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

  // The content of exactly one frame or block. The bytes may be hostile: nothing above `bytes_max` is ever reserved or
  // written. Otherwise bad input.
  Expected<std::string> decompress(Packing packing, std::string_view packed, std::size_t bytes_max);
  // The same, kept here until the next call: for whoever only looks at it.
  Expected<std::string_view> view(Packing packing, std::string_view packed, std::size_t bytes_max);

 private:
  Expected<std::string_view> of_lz4(std::string_view packed, std::size_t bytes_max);
  Expected<std::string_view> of_zstd(std::string_view frame, std::size_t bytes_max);
  char* room_for(std::size_t bytes);
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace kq
