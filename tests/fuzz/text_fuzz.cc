// Fuzzes the functions that make untrusted text safe to print: their results must have no control characters and must
// be valid UTF-8.
#include <algorithm>

#include "core/base/check.h"
#include "gpu_worker/judge/tensor/table.h"
#include "producer/client/sentences.h"
#include "sys/log_pump.h"
#include "tests/fuzz/fuzz.h"
#include "tools/cli/text.h"

using namespace kq;

namespace {

constexpr std::size_t kLogBytes = 64;

// Whether the text has a control character other than those in `but`.
bool has_control(std::string_view text, std::string_view but) {
  return std::any_of(text.begin(), text.end(), [&](char c) {
    return (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) && but.find(c) == std::string_view::npos;
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const std::string shown = tools::printable(bytes);
  KQ_CHECK(!has_control(shown, "") && tools::valid_utf8(shown) == shown);
  KQ_CHECK(tools::printable(shown) == shown);

  const std::string line = producer::one_line(bytes);
  KQ_CHECK(!has_control(line, "") && tools::valid_utf8(line) == line);

  // The judge uses this function for the texts of children.
  const std::size_t room = bytes.empty() ? 0 : bytes.size() - bytes.size() / 3;
  const std::string kept = sys::printable(bytes, room);
  KQ_CHECK(kept.size() <= room && !has_control(kept, "\n\t") && tools::valid_utf8(kept) == kept);

  // Appending a log in pieces must give the same text as appending it at once, and the text must respect the limit.
  sys::CappedLog whole(kLogBytes);
  sys::CappedLog pieces(kLogBytes);
  whole.append(bytes);
  for (std::string_view rest = bytes; !rest.empty();)
    pieces.append(fuzz::take(rest, 1 + static_cast<unsigned char>(rest.front()) % 7));
  KQ_CHECK(pieces.text() == whole.text());
  KQ_CHECK(whole.text().size() <= kLogBytes + 64 && !has_control(whole.text(), "\n\t"));
  return 0;
}
