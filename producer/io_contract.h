// The IOContract of a CUDA submission: how a bare kernel is called. X.cu has it beside it as X.json.
//
//   {"kernel_name": "scale", "compiler_options": ["--use_fast_math"],
//    "args": [{"name": "x", "type": "tensor", "role": "input"},
//             {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [8], "dtype": "float32"}},
//             {"name": "n", "type": "int", "value": 8}],
//    "launch": {"grid": {"x": 1}, "block": {"x": 256}, "shared_mem_bytes": 0}}
//
// Only args and launch must be there; a dimension not given is 1; unknown keys are ignored, as other systems add their
// own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "producer/json.h"

namespace kq {

// Everything wrong with it, one sentence each, starting with `name` and the path inside: "scale.json: args[2].role must
// be ...".
std::vector<std::string> io_contract_mistakes(std::string_view name, std::string_view text);
std::vector<std::string> io_contract_mistakes(std::string_view name, const Json& contract);

}  // namespace kq
