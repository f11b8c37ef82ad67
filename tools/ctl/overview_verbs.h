// Verbs that show the whole: stats, queue, workers.
#pragma once

#include "tools/ctl/ctl.h"

namespace kq::tools {

Expected<ExitCode> ctl_stats(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_queue(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_workers(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
