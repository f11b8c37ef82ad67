// The files that a problem reads in its own folder.
//
// A problem travels as one text, of which its hash is made. Where the file reads others beside it, their texts follow
// at the end, as a dict FILES, and the worker writes them beside the problem before it imports the problem. Two forms
// are known:
//
//   MultiKernelBench   the text names a file of data, such as "10_layer_norm.json"
//   kernelbench.com    reference.py has a shapes.py beside it, whose SHAPES are the workloads, and problem.yaml may
//   have
//                      tolerances and forbidden functions
#pragma once

#include <filesystem>
#include <string>

#include "core/base/error.h"

namespace kq::producer {

inline constexpr std::size_t kProblemFilesMax = 16;

// Returns the text of a problem with what its folder adds. A text that defines FILES itself stays as it is. Fails with
// bad input where a file beside it is unfit; error texts start with that file's path.
Expected<std::string> with_files_beside(std::string text, const std::filesystem::path& problem);

}  // namespace kq::producer
