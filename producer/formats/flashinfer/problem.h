// The problem of a definition and its workloads, and the files of a solution.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "producer/client/json.h"
#include "producer/formats/candidate.h"

namespace kq::producer::flashinfer {

// The text of trace_problem.py.
extern const std::string_view kTraceProblem;

// Returns the text of the problem. Tensors of files with the ending .safetensors are read below `root` and travel in
// the text. Fails with bad input for a definition or workload that kq cannot run; the error text continues the place of
// the file.
Expected<std::string> problem_text(const Json& definition, const JsonArray& workloads,
                                   const std::filesystem::path& root);

// Sets the files, the backend, the label, the author and the tags of a solution. Fails with bad input likewise.
Expected<void> read_solution(const Json& solution, const std::filesystem::path& path, Candidate& candidate);

}  // namespace kq::producer::flashinfer
