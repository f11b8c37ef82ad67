// The verbs that change jobs: cancel, retry, and requeue and purge for dead letters.
#pragma once

#include "core/base/error.h"

namespace kq::tools {

struct CtlWorld;

Expected<ExitCode> ctl_cancel(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_retry(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_requeue(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_purge(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
