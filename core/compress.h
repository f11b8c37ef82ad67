// zstd, for files: made small once by whoever has them, and left so on every wire and in the store.
//
// Both classes keep their working memory from one file to the next: making that anew would cost more than a small file. Not thread-safe:
// one per thread. compress.cc alone knows zstd.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace kq {

class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;

  // One frame that names its content's size, or nothing where that would not be smaller than the content.
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

  // The content of exactly one frame, which must name its content's size. The bytes may be hostile: nothing above `bytes_max` is ever
  // reserved or written. Otherwise bad input.
  Expected<std::string> decompress(std::string_view frame, std::size_t bytes_max);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace kq
