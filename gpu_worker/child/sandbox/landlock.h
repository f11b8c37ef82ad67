// Landlock: the files of the view (view.h) and no others, by a second mechanism of the kernel; beside that no TCP, and
// no signals or abstract sockets to whoever is outside, as far as the kernel has them. Where there is no mount view
// this is what keeps a job from the host's files.
#pragma once

#include <string_view>

#include "core/base/error.h"

namespace kq::sandbox {

// For good, in this process and all that it starts. `has_view`: the plan's places are what there is to see; otherwise
// the host's own files are, and its sources are what may be used. False where the kernel has no Landlock; then nothing
// has changed. Needs no_new_privs.
Expected<bool> restrict_files(std::string_view plan, bool has_view);

}  // namespace kq::sandbox
