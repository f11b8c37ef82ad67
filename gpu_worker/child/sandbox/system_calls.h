// The system calls that no job needs and that kernels have been broken through: refused by seccomp, in this process and
// all that it starts.
//
// Whatever is not on the list is allowed: torch, CUDA's driver, compilers and Python make more kinds of calls than
// anybody could list. A refused call fails as it would without the right to it, so that a library which merely tries
// goes on without.
#pragma once

#include "core/base/error.h"

namespace kq::sandbox {

// For good. False where the kernel has no seccomp; then nothing has changed. Needs no_new_privs.
Expected<bool> refuse_system_calls();

}  // namespace kq::sandbox
