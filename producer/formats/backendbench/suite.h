// The suites of BackendBench: which calls of which operators test the kernels of a folder.
//
//   smoke        two calls of relu, which need no file
//   torchbench   the calls of a file, without repetition, those with the largest tensors first
//   opinfo       the calls of a file, which are checked and not timed: python -m kq.backendbench opinfo makes it
//   facto        likewise
//
// A file is a trace or JSON Lines. A trace (.txt) has a line "Operator: NAME" before the lines "cnt: N, RECORD" of its
// calls (record.h); other lines say nothing. JSON Lines (.jsonl) have "op_name" and "args", and leave out a call where
// "included_in_benchmark" is false.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/error.h"

namespace kq::producer::backendbench {

enum class Suite { smoke, torchbench, opinfo, facto };
constexpr std::array<std::string_view, 4> enum_names(Suite) {
  return {"smoke", "torchbench", "opinfo", "facto"};
}

inline constexpr std::size_t kSuiteCallsMax = 1'000'000;  // calls in one file

struct SuiteOptions {
  Suite suite = Suite::smoke;
  std::optional<std::filesystem::path> trace{};  // the file of every suite but smoke
  std::vector<std::string> ops{};                // empty: all. torchbench takes every name that has one of these in it
  std::optional<std::uint32_t> largest{};        // torchbench: only this many calls of each operator
  bool strict = false;                         // tolerances are those of BackendBench: 0.01 for every dtype
  bool first_version = false;                  // the kernel file whose name is first, and not the highest version
};

// One call of an operator.
struct Call {
  std::string op;     // "add.Tensor"
  std::string args;   // the record as it was written
  std::string where;  // the place for error texts: "ops.txt:17"
  std::uint64_t tensor_bytes = 0;
  bool is_checked = true;
  bool is_timed = true;
};

// Returns the calls of a suite, sorted by operator. Fails with bad input where the file cannot be read.
// `mistake` gets a sentence about each line that is wrong.
Expected<std::vector<Call>> calls_of(const SuiteOptions& options,
                                     const std::function<void(std::string sentence)>& mistake);

}  // namespace kq::producer::backendbench
