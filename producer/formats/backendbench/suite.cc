#include "producer/formats/backendbench/suite.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <tuple>
#include <utility>

#include "producer/client/json.h"
#include "producer/formats/backendbench/op_name.h"
#include "producer/formats/backendbench/record.h"
#include "sys/error_text.h"

namespace kq::producer::backendbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOperator = "Operator: ";
constexpr std::string_view kCount = "cnt: ";
constexpr std::size_t kLineBytesMax = kRecordBytesMax + (4u << 10);

using Mistake = std::function<void(std::string sentence)>;

// torch has sum.dim_IntList where older traces have sum.SymInt.
std::optional<std::string> present_name(std::string_view written) {
  auto name = op_name(written);
  if (name == "sum.SymInt") return "sum.dim_IntList";
  return name;
}

// What one line says: a call, nothing, or a mistake.
class TraceReader {
 public:
  Expected<std::optional<Call>> read(std::string_view line) {
    if (line.starts_with(kOperator)) {
      line.remove_prefix(kOperator.size());
      has_operator_ = true;
      op_ = present_name(line.substr(0, line.find_last_not_of(" \t\r") + 1));
      if (!op_) return bad_input("'" + std::string(line) + "' is no name of an operator, such as aten.add.Tensor");
      return std::nullopt;
    }
    if (!line.starts_with(kCount)) return std::nullopt;
    line.remove_prefix(kCount.size());
    const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
    if (digits == 0 || !line.substr(digits).starts_with(",")) return std::nullopt;
    if (!has_operator_) return bad_input("a call stands before the first line 'Operator: NAME'");
    if (!op_) return std::nullopt;  // the line of the operator was a mistake
    line.remove_prefix(std::min(line.find_first_not_of(' ', digits + 1), line.size()));
    line.remove_suffix(line.size() - (line.find_last_not_of(" \t\r") + 1));
    return Call{.op = *op_, .args = std::string(line), .where = {}};
  }

 private:
  bool has_operator_ = false;
  std::optional<std::string> op_;
};

Expected<std::optional<Call>> read_json_line(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return std::nullopt;
  KQ_TRY_VALUE(const Json json, parse_json(line));
  const Json* const name = json.find("op_name");
  const Json* const args = json.find("args");
  if (name == nullptr || name->text() == nullptr || args == nullptr || args->text() == nullptr)
    return bad_input("expected an object with the texts op_name and args");
  const Json* const included = json.find("included_in_benchmark");
  if (included != nullptr && included->boolean() != nullptr && !*included->boolean()) return std::nullopt;
  const auto op = present_name(*name->text());
  if (!op) return bad_input("op_name '" + *name->text() + "' is no name of an operator, such as aten.add.Tensor");
  return Call{.op = *op, .args = *args->text(), .where = {}};
}

bool is_wanted(const SuiteOptions& options, const std::string& op) {
  if (options.ops.empty()) return true;
  const std::string in_full = "aten." + op;
  return std::ranges::any_of(options.ops, [&](const std::string& wanted) {
    if (options.suite == Suite::torchbench) return in_full.find(wanted) != std::string::npos;
    return wanted == op.substr(0, op.rfind('.')) || present_name(wanted) == op;
  });
}

Expected<std::vector<Call>> read_file(const SuiteOptions& options, const fs::path& path, const Mistake& mistake) {
  const bool is_json = path.extension() == ".jsonl";
  if (!is_json && path.extension() != ".txt")
    return bad_input(path.string() + ": expected a trace, NAME.txt, or JSON Lines, NAME.jsonl");
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return bad_input(sys::error_text(path.string()));
  std::vector<Call> calls;
  TraceReader trace;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::string where = path.string() + ":" + std::to_string(number);
    if (line.size() > kLineBytesMax) {
      mistake(where + ": the line has more than " + std::to_string(kLineBytesMax) + " bytes");
      continue;
    }
    auto call = is_json ? read_json_line(line) : trace.read(line);
    if (!call) {
      mistake(where + ": " + call.error().message);
      continue;
    }
    if (!*call || !is_wanted(options, (*call)->op)) continue;
    const auto record = parse_record((*call)->args);
    if (!record) {
      mistake(where + ": args: " + record.error().message);
      continue;
    }
    if (calls.size() == kSuiteCallsMax)
      return bad_input(where + ": the file has more than " + std::to_string(kSuiteCallsMax) + " calls");
    (*call)->where = where;
    (*call)->tensor_bytes = record->tensor_bytes;
    calls.push_back(std::move(**call));
  }
  if (file.bad()) return bad_input(sys::error_text(path.string()));
  return calls;
}

// Sorts the calls by operator, and leaves out repetitions. Calls of one operator keep their order.
std::vector<Call> by_operator(std::vector<Call> calls) {
  std::set<std::pair<std::string, std::string>> seen;
  std::erase_if(calls, [&](const Call& call) { return !seen.emplace(call.op, call.args).second; });
  std::ranges::stable_sort(calls, {}, &Call::op);
  return calls;
}

// Puts the calls with the largest tensors of each operator first, ties by text, and keeps as many as are wanted.
std::vector<Call> largest_first(const std::vector<Call>& calls, std::optional<std::uint32_t> count) {
  std::vector<Call> kept;
  for (auto begin = calls.begin(); begin != calls.end();) {
    const auto end = std::find_if(begin, calls.end(), [&](const Call& call) { return call.op != begin->op; });
    std::vector<Call> of_op(begin, end);
    std::ranges::sort(of_op, std::greater<>{}, [](const Call& call) { return std::tie(call.tensor_bytes, call.args); });
    if (count && of_op.size() > *count) of_op.erase(of_op.begin() + *count, of_op.end());
    std::ranges::move(of_op, std::back_inserter(kept));
    begin = end;
  }
  return kept;
}

}  // namespace

Expected<std::vector<Call>> calls_of(const SuiteOptions& options, const Mistake& mistake) {
  if (options.suite == Suite::smoke) {
    std::vector<Call> calls{{.op = "relu.default", .args = "((T([2], f32),), {})", .where = "suite smoke"},
                            {.op = "relu.default", .args = "((T([1024, 1024], f32),), {})", .where = "suite smoke"}};
    calls.front().is_timed = calls.back().is_checked = false;
    if (!is_wanted(options, calls.front().op)) calls.clear();
    return calls;
  }
  if (!options.trace)
    return bad_input("--suite " + std::string(to_string(options.suite)) +
                     " needs --trace FILE, a trace or JSON Lines with the calls");
  KQ_TRY_VALUE(auto calls, read_file(options, *options.trace, mistake));
  calls = by_operator(std::move(calls));
  if (options.suite == Suite::torchbench) return largest_first(calls, options.largest);
  for (Call& call : calls) call.is_timed = false;
  return calls;
}

}  // namespace kq::producer::backendbench
