// Fuzzes the compression of files. Arbitrary bytes as a compressed file must not exceed the size limit, and a
// compressed file must decompress to its contents.
#include "core/base/check.h"
#include "core/bytes/compress.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t bytes_max = 4096;
  static Compressor compressor;
  static Decompressor decompressor;
  const std::string_view bytes = fuzz::text_of(data, size);
  for (const Packing packing : {Packing::zstd, Packing::lz4}) {
    const auto content = decompressor.decompress(packing, bytes, bytes_max);
    if (content) {
      KQ_CHECK(content->size() <= bytes_max);
    } else {
      KQ_CHECK(content.error().kind == ErrorKind::bad_input && !content.error().message.empty());
    }
  }
  if (const auto block = compressor.compress(bytes)) {
    KQ_CHECK(block->size() < bytes.size() &&
             decompressor.decompress(Packing::lz4, *block, bytes.size()) == std::string(bytes));
    KQ_CHECK(!decompressor.decompress(Packing::lz4, *block, bytes.size() - 1));
  }
  return 0;
}
