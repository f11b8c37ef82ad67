// The verbs that list jobs and runs, one per line: jobs, dead-letters, runs.
#pragma once

#include "core/base/error.h"

namespace kq::tools {

struct CtlWorld;

Expected<ExitCode> ctl_jobs(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_dead_letters(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_runs(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
