// Verbs that change jobs: cancel, retry, and of dead letters requeue and purge.
#pragma once

#include "tools/ctl/ctl.h"

namespace kq::tools {

Expected<ExitCode> ctl_cancel(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_retry(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_requeue(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_purge(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
