// kq-ctl keygen: issues and revokes the keys of people and workers in the broker's folder of keys, without asking a
// broker.
#pragma once

#include "core/base/error.h"

namespace kq::tools {

struct CtlWorld;

Expected<ExitCode> ctl_keygen(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
