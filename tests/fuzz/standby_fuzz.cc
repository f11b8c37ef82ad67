// Fuzzes the decoder of the messages between a broker and its standby. Each message has one encoding.
#include "broker/standby/protocol.h"
#include "core/base/check.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const auto message = broker::decode_standby(bytes);
  if (message) {
    KQ_CHECK(broker::is_standby_message(bytes));
    KQ_CHECK(broker::encode_standby(*message) == bytes);
  } else {
    KQ_CHECK(message.error().kind == ErrorKind::bad_input && !message.error().message.empty());
  }
  return 0;
}
