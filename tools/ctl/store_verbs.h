// The verbs that copy and check stores: backup, restore, verify; and promote.
#pragma once

#include <cstdint>

#include "core/base/error.h"

namespace kq::tools {

struct CtlWorld;

Expected<ExitCode> ctl_backup(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_restore(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_verify(int argc, const char* const* argv, const CtlWorld& world);

Expected<ExitCode> ctl_promote(int argc, const char* const* argv, const CtlWorld& world);

// How long a standby may need to take over.
inline constexpr std::int64_t kPromoteTimeoutMs = 30'000;
// How long a backup may take. The broker links the files of the store where the disk allows it, and copies them
// otherwise.
inline constexpr std::int64_t kBackupTimeoutMs = 600'000;

}  // namespace kq::tools
