// Fuzzes the parser of points in time from users.
#include "core/base/check.h"
#include "producer/client/when.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t now_ms = 1'700'000'000'000;
  constexpr std::int64_t day_ms = 86'400'000;
  const auto when = producer::parse_when(fuzz::text_of(data, size), now_ms);
  if (!when) {
    KQ_CHECK(when.error().kind == ErrorKind::bad_input && !when.error().message.empty());
    return 0;
  }
  KQ_CHECK(*when > 0 && *when <= now_ms + producer::kWhenAheadDaysMax * day_ms);
  // A parsed time has whole seconds, and when_text() must give a text that parses to the same time.
  KQ_CHECK(*when % 1000 == 0 && producer::parse_when(producer::when_text(*when), now_ms) == *when);
  return 0;
}
