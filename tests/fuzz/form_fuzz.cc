// Fuzzes the reader of forms from clients of kq-gateway. The first line of an input is the Content-Type.
#include <algorithm>

#include "core/base/check.h"
#include "producer/gateway/rest/multipart.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view body = fuzz::text_of(data, size);
  const std::string_view type = fuzz::take(body, std::min(body.find('\n'), body.size()));
  fuzz::take(body, 1);
  const auto parts = gateway::parse_form(type, body);
  if (!parts) {
    KQ_CHECK(parts.error().kind == ErrorKind::bad_input && !parts.error().message.empty());
    return 0;
  }
  for (const gateway::FormPart& part : *parts) {
    KQ_CHECK(!part.name.empty());
    KQ_CHECK(part.content.data() >= body.data() &&
             part.content.data() + part.content.size() <= body.data() + body.size());
  }
  return 0;
}
