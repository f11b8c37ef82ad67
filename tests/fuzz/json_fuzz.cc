// Fuzzes the JSON parser of producers. A parsed value must survive writing and parsing, and respect the depth limit.
#include <algorithm>

#include "core/base/check.h"
#include "producer/client/json.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

constexpr std::size_t kErrorBytesMax = 400;

std::size_t depth(const producer::Json& json) {
  std::size_t deepest = 0;
  if (json.array() != nullptr) {
    for (const producer::Json& item : *json.array()) deepest = std::max(deepest, depth(item));
    return deepest + 1;
  }
  if (json.object() == nullptr) return 0;
  for (const auto& [key, member] : *json.object()) deepest = std::max(deepest, depth(member));
  return deepest + 1;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const auto json = producer::parse_json(bytes);
  if (!json) {
    KQ_CHECK(json.error().kind == ErrorKind::bad_input && !json.error().message.empty());
    KQ_CHECK(json.error().message.size() <= kErrorBytesMax);
  } else {
    KQ_CHECK(depth(*json) <= producer::kJsonDepthMax);
    const std::string written = producer::to_text(*json);
    const auto again = producer::parse_json(written);
    KQ_CHECK(again.has_value());
    KQ_CHECK(producer::to_text(*again) == written);
    const std::string words = producer::described(*json);
    KQ_CHECK(!words.empty() && words.size() <= kErrorBytesMax);
    KQ_CHECK(*producer::parse_json(producer::json_quoted(words))->text() == words);  // the text is valid UTF-8
  }
  // json_quoted() must make a valid JSON string of arbitrary bytes.
  const auto quoted = producer::parse_json(producer::json_quoted(bytes));
  KQ_CHECK(quoted && quoted->text() != nullptr);
  return 0;
}
