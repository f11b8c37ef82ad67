// Fuzzes the parser of the IOContract of a CUDA kernel. Each error text must name the file.
#include "core/base/check.h"
#include "producer/formats/io_contract.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const std::string& mistake : producer::io_contract_mistakes("k.json", fuzz::text_of(data, size))) {
    KQ_CHECK(mistake.starts_with("k.json: ") && mistake.size() > 8);
  }
  return 0;
}
