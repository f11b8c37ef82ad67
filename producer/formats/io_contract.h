// The IOContract of a submission, which says how a bare kernel is called, or which function or class is the entry. X.cu
// needs the contract as X.json in the same directory, and X.py may have one.
//
//   {"kernel_name": "scale", "compiler_options": ["--use_fast_math"],
//    "args": [{"name": "x", "type": "tensor", "role": "input"},
//             {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [8], "dtype": "float32"}},
//             {"name": "n", "type": "int", "value": 8}],
//    "launch": {"grid": {"x": 1}, "block": {"x": 256}, "shared_mem_bytes": 0}}
//
// A kernel needs args and launch, and a Python function needs neither. A missing dimension is 1. Unknown keys are
// ignored, because other systems add their own. args and launch may also be inside "io", and names and compiler_options
// inside "metadata".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/submission.h"
#include "producer/client/json.h"

namespace kq::producer {

// Returns all mistakes of a contract, one sentence for each. A sentence starts with `name` and the path of the member:
// "scale.json: args[2].role must be ...".
std::vector<std::string> io_contract_mistakes(std::string_view name, std::string_view text,
                                              Backend backend = Backend::cuda);

// Returns whether the text is an IOContract. X.json beside X.py may be a file of another program.
bool is_io_contract(std::string_view text);

}  // namespace kq::producer
