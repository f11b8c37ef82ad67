// Reads which kernels the GPU ran in the watched calls of a submission (gpu_worker/child/runtime/kernel_trace.h), and
// says whose they are.
//
// The lines come from the submission's own process. Calls are watched at random places among the trials, so a
// submission cannot know beforehand which calls these are; code that patches CUPTI in its process can still hide its
// kernels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/messages.h"
#include "core/result.h"

namespace kq::worker {

// Returns what the watched calls ran, without is_decoy and are_own_wanted, or nothing where no call was watched to its
// end. Invalid lines are ignored. `python_home` is as in read_audit().
std::optional<KernelsRan> read_kernels(std::string_view text, std::string_view python_home = {});

// Returns whose kernel it is, by the library that launched it and by its name.
KernelOwner owner_of(std::string_view modules, std::string_view name, std::string_view python_home = {});

// Returns whether the text of a Python or C++ file has kernels: triton's decorator, __global__, or a call that compiles
// CUDA, outside of comments that take a whole line or the end of one.
bool has_kernels(std::string_view file_name, std::string_view text);

}  // namespace kq::worker
