// The verb that shares a run: others may then add rows to it and read its sources.
#pragma once

#include "core/base/error.h"

namespace kq::tools {

struct CtlWorld;

Expected<ExitCode> ctl_share(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
