// The mount view: the only files a child sees.
//
// A plan is text, one line per thing, fields separated by tabs, built in this order inside an empty root that is
// read-only in the end:
//
//   ro       SOURCE  PLACE            a directory or file, read-only, with everything mounted below it; left out where
//   it cannot be found rw       SOURCE  PLACE            the same, writable; must be there dev      PLACE a device node
//   of the host; left out where there is none link     TARGET  PLACE            a symbolic link scratch  BYTES   INODES
//   PLACE... one tmpfs with that much room in all, at each of the places proc     PLACE                    a /proc of
//   the pid namespace; the host's where the kernel refuses one work     SOURCE                   where the child works
//   if there is no view; not part of one
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace kq::runtime {

// Makes the plan the root of this mount namespace, which must be our own, with the right to mount in it.
Expected<void> make_view(std::string_view plan);

// The fields of each line.
std::vector<std::vector<std::string>> lines_of(std::string_view plan);

}  // namespace kq::runtime
