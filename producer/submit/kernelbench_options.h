// The key=value options of KernelBench's evaluation scripts (eval_from_generations.py, run_and_check.py), so that the
// arguments of these scripts also work with kq-submit. kernelbench_options.cc has a table of them. An option without a
// meaning for kq is accepted, and a note says that it is ignored.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/submit/inspect.h"

namespace kq::producer {

// Returns whether the argument is such an option: it has the form "level=1" and is no path that exists.
bool is_kernelbench_option(const std::string& argument);

// Applies the options to the request, which may also set its inputs. Returns one sentence for each ignored option.
Expected<std::vector<std::string>> apply_kernelbench_options(const std::vector<std::string>& arguments,
                                                             SubmitRequest& request);

}  // namespace kq::producer
