// The verbs that control which jobs the broker leases: pause, resume, drain.
#pragma once

#include <cstdint>

#include "core/base/error.h"

namespace kq::tools {

struct CtlWorld;

Expected<ExitCode> ctl_pause(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_resume(int argc, const char* const* argv, const CtlWorld& world);
Expected<ExitCode> ctl_drain(int argc, const char* const* argv, const CtlWorld& world);

inline constexpr std::int64_t kDrainPollMs = 500;  // between two questions of `drain --wait` to the broker

}  // namespace kq::tools
