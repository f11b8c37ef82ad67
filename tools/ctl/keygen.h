// kq-ctl keygen: keys for people and workers, made beside the broker's folder of keys; no broker is asked.
#pragma once

#include "tools/ctl/ctl.h"

namespace kq::tools {

Expected<ExitCode> ctl_keygen(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
