// Fuzzes the parsers of packets from the zygote's socket.
#include "core/base/check.h"
#include "gpu_worker/zygote/packets.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view packet = fuzz::text_of(data, size);
  if (const auto hello = worker::parse_zygote_hello(packet); !hello)
    KQ_CHECK(hello.error().kind == ErrorKind::our_fault);
  // The status of a child needs the field `id`. JSON may write its letters as escapes, which begin with a backslash.
  if (const auto status = worker::parse_child_status(packet))
    KQ_CHECK(packet.find("id") != std::string_view::npos || packet.find('\\') != std::string_view::npos);
  return 0;
}
