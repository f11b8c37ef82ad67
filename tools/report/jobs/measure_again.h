// The command that measures a job again.
#pragma once

#include <string>

#include "core/submission.h"

namespace kq::tools {

// Returns the command line of kq-submit that makes the same job anew, for a shell. It names the files as the job does,
// so it works in a folder that holds the job's files.
std::string measure_again_command(const Submission& submission, const std::string& run);

}  // namespace kq::tools
