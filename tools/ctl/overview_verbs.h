// The verbs that show the state of the broker as a whole: stats, queue, workers.
#pragma once

#include "core/base/error.h"

namespace kq::tools {

struct CtlWorld;

Expected<ExitCode> ctl_status(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_stats(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_queue(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_workers(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
