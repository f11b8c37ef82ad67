// Verbs that keep a store safe: backup, restore, verify.
#pragma once

#include "tools/ctl/ctl.h"

namespace kq::tools {

Expected<ExitCode> ctl_backup(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_restore(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_verify(int argc, const char* const* argv, const CtlWorld& world);

inline constexpr std::int64_t kBackupTimeoutMs = 600'000;  // files are linked where the disk allows, else copied

}  // namespace kq::tools
