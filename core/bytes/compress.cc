#include "core/bytes/compress.h"

#include <lz4.h>
#include <zstd.h>

#include <climits>
#include <cstdint>

#include "core/base/check.h"

namespace kq {
namespace {

constexpr int kSpeed = 1;  // LZ4's acceleration; a higher value is faster and compresses less
constexpr std::size_t kSizeBytes = 4;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

tl::unexpected<Error> too_long(const std::string& what, std::uint64_t bytes, std::size_t bytes_max) {
  return bad_input(what + std::to_string(bytes) + " bytes, at most " + std::to_string(bytes_max) + " are allowed");
}

// Reads the size of the content, which precedes an LZ4 block in big-endian order.
std::uint32_t size_before(std::string_view packed) {
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < kSizeBytes; ++i) size = size << 8 | static_cast<std::uint8_t>(packed[i]);
  return size;
}

}  // namespace

struct Compressor::Memory {
  LZ4_stream_t state;
  std::string block;  // the output buffer, large enough for the worst case of the largest file so far
};

Compressor::Compressor() : memory_(std::make_unique<Memory>()) {}
Compressor::~Compressor() = default;
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;

std::optional<std::string> Compressor::compress(std::string_view content) {
  if (content.size() > LZ4_MAX_INPUT_SIZE) return std::nullopt;
  const int size = static_cast<int>(content.size());
  const int room = LZ4_compressBound(size);
  std::string& block = memory_->block;
  if (block.size() < kSizeBytes + static_cast<std::size_t>(room))
    block.resize(kSizeBytes + static_cast<std::size_t>(room));
  const int n =
      LZ4_compress_fast_extState(&memory_->state, content.data(), block.data() + kSizeBytes, size, room, kSpeed);
  KQ_CHECK(n > 0);  // the buffer is large enough for the worst case
  const std::size_t bytes = kSizeBytes + static_cast<std::size_t>(n);
  if (bytes >= content.size()) return std::nullopt;
  for (std::size_t i = 0; i < kSizeBytes; ++i) block[i] = static_cast<char>(content.size() >> 8 * (kSizeBytes - 1 - i));
  return block.substr(0, bytes);
}

std::size_t content_bytes(Packing packing, std::string_view packed) {
  switch (packing) {
    case Packing::raw:
      return packed.size();
    case Packing::zstd: {
      const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
      return size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN ? 0 : static_cast<std::size_t>(size);
    }
    case Packing::lz4:
      return packed.size() < kSizeBytes ? 0 : size_before(packed);
  }
  return 0;
}

struct Decompressor::Memory {
  std::unique_ptr<ZSTD_DCtx, FreeContext> context;  // made for the first zstd frame, because most files are LZ4 blocks
  std::string content;  // the content of the last view, followed by the rest of earlier and longer ones
};

Decompressor::Decompressor() : memory_(std::make_unique<Memory>()) {}
Decompressor::~Decompressor() = default;
Decompressor::Decompressor(Decompressor&&) noexcept = default;
Decompressor& Decompressor::operator=(Decompressor&&) noexcept = default;

Expected<std::string> Decompressor::decompress(Packing packing, std::string_view packed, std::size_t bytes_max) {
  return view(packing, packed, bytes_max).map([](std::string_view content) { return std::string(content); });
}

Expected<std::string_view> Decompressor::view(Packing packing, std::string_view packed, std::size_t bytes_max) {
  switch (packing) {
    case Packing::raw:
      if (packed.size() > bytes_max) return too_long("", packed.size(), bytes_max);
      return packed;
    case Packing::zstd:
      return of_zstd(packed, bytes_max);
    case Packing::lz4:
      return of_lz4(packed, bytes_max);
  }
  return bad_input("packed in no known way");
}

char* Decompressor::room_for(std::size_t bytes) {
  if (memory_->content.size() < bytes) memory_->content.resize(bytes);
  return memory_->content.data();
}

Expected<std::string_view> Decompressor::of_lz4(std::string_view packed, std::size_t bytes_max) {
  if (packed.size() < kSizeBytes || packed.size() > INT_MAX)
    return bad_input("not an LZ4 block behind its content's size");
  const std::uint32_t size = size_before(packed);
  if (size > bytes_max) return too_long("an LZ4 block of ", size, bytes_max);
  packed.remove_prefix(kSizeBytes);
  char* const content = room_for(size);
  const int n = LZ4_decompress_safe(packed.data(), content, static_cast<int>(packed.size()), static_cast<int>(size));
  if (n < 0) return bad_input("a damaged LZ4 block");
  if (static_cast<std::uint32_t>(n) != size) return bad_input("an LZ4 block whose content is not as long as it says");
  return std::string_view(content, size);
}

Expected<std::string_view> Decompressor::of_zstd(std::string_view frame, std::size_t bytes_max) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR) return bad_input("not a zstd frame");
  if (size == ZSTD_CONTENTSIZE_UNKNOWN) return bad_input("a zstd frame that does not name its content's size");
  if (size > bytes_max) return too_long("a zstd frame of ", size, bytes_max);
  // ZSTD_decompressDCtx would also read skippable frames and further frames, so the first frame must be the whole
  // input.
  if (const std::size_t n = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
      ZSTD_isError(n) != 0 || n != frame.size()) {
    return bad_input("a zstd frame that is cut short, or with something behind it");
  }
  if (memory_->context == nullptr) memory_->context.reset(ZSTD_createDCtx());
  KQ_CHECK(memory_->context != nullptr);
  char* const content = room_for(static_cast<std::size_t>(size));
  const std::size_t n =
      ZSTD_decompressDCtx(memory_->context.get(), content, static_cast<std::size_t>(size), frame.data(), frame.size());
  if (ZSTD_isError(n) != 0) return bad_input(std::string("a damaged zstd frame: ") + ZSTD_getErrorName(n));
  if (n != size) return bad_input("a zstd frame whose content is not as long as it says");
  return std::string_view(content, n);
}

}  // namespace kq
