// Verbs that steer leasing: pause, resume, drain.
#pragma once

#include "tools/ctl/ctl.h"

namespace kq::tools {

Expected<ExitCode> ctl_pause(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_resume(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_drain(int argc, const char* const* argv, const CtlWorld& world);

inline constexpr std::int64_t kDrainPollMs = 500;  // between two looks of drain --wait

}  // namespace kq::tools
