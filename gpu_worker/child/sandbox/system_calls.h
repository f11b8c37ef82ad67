// Refuses, by seccomp, system calls that no job needs and that have been used to exploit kernels.
//
// Calls that are not on the list are allowed, because torch, CUDA's driver, compilers and Python make more kinds of
// calls than a list could hold. A refused call fails with the error of a missing permission, so that a library which
// only tries the call goes on without it.
#pragma once

#include "core/base/error.h"

namespace kq::sandbox {

// Installs the filter in this process and all its descendants, irrevocably. `has_loopback` says that the processes look
// for their network interface, which the C library asks the kernel for through a netlink socket. Returns false if the
// kernel has no seccomp; then nothing has changed. Needs no_new_privs.
Expected<bool> refuse_system_calls(bool has_loopback = false);

}  // namespace kq::sandbox
