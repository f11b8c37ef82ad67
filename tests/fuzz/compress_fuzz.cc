// Files as they travel: any bytes as a frame, and any content through one.
#include "core/check.h"
#include "core/compress.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t bytes_max = 4096;
  static Compressor compressor;
  static Decompressor decompressor;
  const std::string_view bytes = fuzz::text_of(data, size);
  const auto content = decompressor.decompress(bytes, bytes_max);
  if (content) {
    KQ_CHECK(content->size() <= bytes_max);
  } else {
    KQ_CHECK(content.error().code == ExitCode::bad_input && !content.error().message.empty());
  }
  // Also right after a frame that was refused half-way: the memory is the same.
  if (const auto frame = compressor.compress(bytes)) {
    KQ_CHECK(frame->size() < bytes.size() && decompressor.decompress(*frame, bytes.size()) == std::string(bytes));
    KQ_CHECK(!decompressor.decompress(*frame, bytes.size() - 1));
  }
  return 0;
}
