// Verbs that list jobs one by one: jobs, dead-letters; and runs.
#pragma once

#include "tools/ctl/ctl.h"

namespace kq::tools {

Expected<ExitCode> ctl_jobs(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_dead_letters(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_runs(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
