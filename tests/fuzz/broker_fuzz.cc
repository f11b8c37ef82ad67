// Fuzzes the broker with arbitrary events in any order (tests/fuzz/fuzzed_broker.h).
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzzed_broker.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzedBroker broker;
  broker.run(fuzz::text_of(data, size));
  return 0;
}
