// kq-ctl why: prints one sentence about each job that is not done.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"
#include "producer/client/client.h"
#include "tools/ctl/broker_objects.h"

namespace kq::tools {

struct CtlWorld;

Expected<ExitCode> ctl_why(int argc, const char* const* argv, const CtlWorld& world);

// Returns the sentence about one job, such as "job 7 waits for a NVIDIA H200: none of the 2 workers has one" or
// "job 7 is being built, attempt 1: the worker w1 has been building the extensions of this job for 14 s". `workers`
// are the connected workers; `pauses` are used for a paused job alone, and of a finished job only the run in `job` is.
std::string why_text(const JobStatus& status, const JobRecord& job, const std::vector<WorkerStatus>& workers,
                     const Pauses& pauses, std::int64_t unix_now_ms);

// Returns the sentence about the first of the jobs that is not finished, or nothing where all are. `seqs` is sorted.
Expected<std::optional<std::string>> why_first_unfinished(producer::Client& client, std::span<const Sequence> seqs,
                                                          std::int64_t unix_now_ms);

}  // namespace kq::tools
