// kq-ctl cache: replaces this process by the program kq-cache, which manages the build cache of this machine's workers.
#pragma once

#include "core/base/error.h"

namespace kq::tools {

struct CtlWorld;

Expected<ExitCode> ctl_cache(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
