// Fuzzes the parser of the broker's URL.
#include "core/base/check.h"
#include "core/limits.h"
#include "core/submission.h"
#include "net/endpoint.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view url = fuzz::text_of(data, size);
  const auto endpoints = net::parse_broker_url(url);
  if (!endpoints) {
    KQ_CHECK(endpoints.error().kind == ErrorKind::bad_input && !endpoints.error().message.empty());
    return 0;
  }
  KQ_CHECK(endpoints->client == url);
  KQ_CHECK(endpoints->worker != endpoints->client);
  KQ_CHECK(endpoints->worker.find('\0') == std::string::npos);
  // Both are passed to ZeroMQ unchanged, so the URL for workers must be valid, too. Only as the URL of a broker it may
  // be refused, because its port may be the last one, and it may be too long for a port with one digit more.
  KQ_CHECK(!name_error(endpoints->worker));
  if (url.starts_with("tcp://"))
    KQ_CHECK(endpoints->worker.ends_with(":65535") || endpoints->worker.size() == kNameBytesMax ||
             net::parse_broker_url(endpoints->worker));
  return 0;
}
