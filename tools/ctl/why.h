// kq-ctl why: one sentence about each job that is not done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/messages.h"
#include "tools/ctl/ctl.h"

namespace kq::tools {

Expected<ExitCode> ctl_why(int argc, const char* const* argv, const CtlWorld& world);

// "job 7 waits its turn: 12 jobs are ahead of it, it is its submitter's 3rd of its kind", "job 7 waits for a NVIDIA
// H200: none of the 2 workers has one", ... `job` may be incomplete for a finished job.
std::string why_text(const JobStatus& status, const JobRecord& job, const std::vector<WorkerStatus>& workers,
                     std::int64_t unix_now_ms);

}  // namespace kq::tools
