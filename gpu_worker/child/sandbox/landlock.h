// Landlock: a second mechanism of the kernel that restricts a child to the files of the view (view.h). As far as the
// kernel supports it, Landlock also forbids TCP, and signals and abstract sockets to processes outside the child. Where
// there is no mount view, Landlock alone keeps a job from the host's files.
#pragma once

#include <string_view>

#include "core/base/error.h"

namespace kq::sandbox {

struct LandlockOptions {
  bool has_view = false;    // the rules apply to the places of the plan, otherwise to its sources, files of the host
  bool allows_tcp = false;  // for a child that has a network namespace with a loopback interface
};

// Restricts this process and all its descendants to the files of `plan`, irrevocably. Returns false if the kernel has
// no Landlock; then nothing has changed. Needs no_new_privs.
Expected<bool> restrict_files(std::string_view plan, const LandlockOptions& options);

}  // namespace kq::sandbox
