// The system calls that a launcher is left with once its CUDA context stands: memory, its descriptors, waiting, and
// what the driver asks of its own device nodes. On top of the list of refused ones that every child has
// (stub/system_calls.h).
#pragma once

#include "core/base/error.h"

namespace kq::launcher {

// For good. Any other call fails with EPERM: a driver that merely tries something goes on without it.
Expected<void> allow_few_system_calls();

}  // namespace kq::launcher
