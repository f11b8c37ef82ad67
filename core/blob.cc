#include "core/blob.h"

#include "core/limits.h"

namespace kq {

Blob packed(Compressor& compressor, const Hash& hash, std::string content) {
  if (auto block = compressor.compress(content)) return {hash, std::move(*block), Packing::lz4};
  return {hash, std::move(content), Packing::raw};
}

Expected<std::string> content_of(Decompressor& decompressor, const Blob& blob) {
  return view_of(decompressor, blob).map([](std::string_view content) { return std::string(content); });
}

Expected<std::string_view> view_of(Decompressor& decompressor, const Blob& blob) {
  if (blob.bytes.size() > kFileBytesMax) {
    return bad_input(std::to_string(blob.bytes.size()) + " bytes, at most " + std::to_string(kFileBytesMax) +
                     " are allowed");
  }
  Expected<std::string_view> content = decompressor.view(blob.packing, blob.bytes, kFileBytesMax);
  if (!content) return content;
  if (const Hash actual = sha256(*content); actual != blob.hash) {
    return bad_input("is named " + to_hex(blob.hash) + ", but its SHA-256 is " + to_hex(actual));
  }
  return content;
}

}  // namespace kq
