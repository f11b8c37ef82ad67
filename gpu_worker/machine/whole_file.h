// Writes files that other processes see as a whole or not at all, also after a power cut.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace kq::worker {

// Writes the bytes under another name in the same directory, syncs them and renames the file to `path`. `mode` is the
// mode of the file; the umask does not change it. Leaves nothing behind where it fails.
Expected<void> write_whole_file(const std::string& path, std::string_view bytes, mode_t mode);

}  // namespace kq::worker
