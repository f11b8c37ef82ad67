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
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/formats/candidate.h"

namespace kq::producer::backendbench {

inline constexpr std::size_t kSuiteCallsMax = 1'000'000;  // calls in one file

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
