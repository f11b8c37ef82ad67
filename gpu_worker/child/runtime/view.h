// The mount view: the only files that a child sees.
//
// A plan is a text with one line per entry and tabs between fields. Entries are built in their order inside an empty
// root, which is made read-only at the end:
//
//   ro       SOURCE  PLACE            a directory or file and its mounts, read-only; skipped if it is missing
//   rw       SOURCE  PLACE            the same, writable; an error if it is missing
//   dev      PLACE                    a device node of the host; skipped if it is missing
//   link     TARGET  PLACE            a symbolic link
//   scratch  BYTES   INODES  PLACE... one tmpfs of that size in all, visible at each of the places
//   proc     PLACE                    the /proc of the pid namespace, or the host's if the kernel refuses a new one
//   work     SOURCE                   the work directory of a child without a view; a view ignores it
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace kq::runtime {

// Builds the plan and makes it the root of this process's mount namespace. The process must have a mount namespace of
// its own, and the right to mount in it.
Expected<void> make_view(std::string_view plan);

// Returns the fields of each line of a plan.
std::vector<std::vector<std::string>> lines_of(std::string_view plan);

}  // namespace kq::runtime
