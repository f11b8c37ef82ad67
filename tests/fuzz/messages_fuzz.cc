// Fuzzes the decoding of arbitrary bytes as each kind of message.
#include "core/messages.h"
#include "core/plan.h"
#include "tests/fuzz/codec.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  fuzz::check_message<ClientRequest>(bytes);
  fuzz::check_message<ClientReply>(bytes);
  fuzz::check_message<WorkerRequest>(bytes);
  fuzz::check_message<WorkerReply>(bytes);
  fuzz::check_message<JudgeRequest>(bytes);
  fuzz::check_message<JudgeReply>(bytes);
  return 0;
}
