// Restricts a launcher, once its CUDA context exists, to the few system calls that launching a kernel needs: memory,
// open descriptors, waiting, and the driver's device nodes. The refused calls of every child (sandbox/system_calls.h)
// stay refused.
#pragma once

#include "core/base/error.h"

namespace kq::launcher {

// Installs the filter, irrevocably. Any other call fails with EPERM: a driver that only tries a call goes on without
// it.
Expected<void> allow_few_system_calls();

}  // namespace kq::launcher
