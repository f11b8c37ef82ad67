// The IOContract of a submission: how a bare kernel is called, and which function or class is meant. X.cu has it beside
// it as X.json; X.py may.
//
//   {"kernel_name": "scale", "compiler_options": ["--use_fast_math"],
//    "args": [{"name": "x", "type": "tensor", "role": "input"},
//             {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [8], "dtype": "float32"}},
//             {"name": "n", "type": "int", "value": 8}],
//    "launch": {"grid": {"x": 1}, "block": {"x": 256}, "shared_mem_bytes": 0}}
//
// A kernel needs args and launch, a function of Python neither; a dimension not given is 1; unknown keys are ignored,
// as other systems add their own. args and launch may also lie inside "io", names and compiler_options inside
// "metadata".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/submission.h"
#include "producer/client/json.h"

namespace kq::producer {

// Everything wrong with it, one sentence each, starting with `name` and the path inside: "scale.json: args[2].role must
// be ...".
std::vector<std::string> io_contract_mistakes(std::string_view name, std::string_view text,
                                              Backend backend = Backend::cuda);

// Whether a file beside X.py is meant for it: other programs leave .json files too.
bool is_io_contract(std::string_view text);

}  // namespace kq::producer
