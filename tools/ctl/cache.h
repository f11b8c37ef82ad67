// kq-ctl cache: the build cache of this machine's workers. What may look into it is kq-cache; this becomes it.
#pragma once

#include "tools/ctl/ctl.h"

namespace kq::tools {

Expected<ExitCode> ctl_cache(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
