// Fuzzes the parsers of what BackendBench's users have: the arguments of a call in a trace, and the names of folders.
#include "core/base/check.h"
#include "producer/formats/backendbench/op_name.h"
#include "producer/formats/backendbench/op_problem.h"
#include "producer/formats/backendbench/record.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const auto record = producer::backendbench::parse_record(text);
  if (record) {
    // A parsed record becomes JSON that parses again.
    const std::string problem = producer::backendbench::op_problem("relu.default", text, false);
    KQ_CHECK(producer::parse_json(producer::to_text(producer::Json{record->positional})).has_value());
    KQ_CHECK(problem.size() > producer::backendbench::kOpProblem.size());
  } else {
    KQ_CHECK(record.error().kind == ErrorKind::bad_input && record.error().message.starts_with("column "));
  }
  const auto op = producer::backendbench::op_of_folder(text);
  KQ_CHECK(!op || producer::backendbench::folder_name(*op) == text);
  KQ_CHECK(!op || producer::backendbench::op_name(*op).has_value());
  return 0;
}
