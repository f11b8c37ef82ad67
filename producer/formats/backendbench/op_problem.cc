#include "producer/formats/backendbench/op_problem.h"

#include <utility>

#include "producer/client/json.h"
#include "producer/formats/backendbench/record.h"

namespace kq::producer::backendbench {

std::string op_problem(const std::string& op, const std::string& args, bool strict) {
  auto record = parse_record(args).value_or(Record{});
  JsonObject call;
  call.emplace_back("op", Json{op});
  call.emplace_back("positional", Json{std::move(record.positional)});
  call.emplace_back("named", Json{std::move(record.named)});
  call.emplace_back("strict", Json{strict});
  // A quoted text of JSON is a text of Python, too.
  return "CALL = " + json_quoted(to_text(Json{std::move(call)})) + "\n" + std::string(kOpProblem);
}

}  // namespace kq::producer::backendbench
