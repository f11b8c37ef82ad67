// Fuzzes the parser of the file for --expect.
#include "core/base/check.h"
#include "tests/fuzz/fuzz.h"
#include "tools/table/expect.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto expectations = tools::Expectations::parse(fuzz::text_of(data, size), "e.csv");
  if (!expectations) {
    KQ_CHECK(expectations.error().kind == ErrorKind::bad_input && expectations.error().message.starts_with("e.csv:"));
    return 0;
  }
  for (const std::string& sentence : expectations->missing()) KQ_CHECK(sentence.find('\n') == std::string::npos);
  return 0;
}
