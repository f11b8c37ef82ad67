// kq-ctl: how people see and steer a queue. One file per group of verbs, one row per verb in the table of ctl.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "producer/client/client.h"
#include "store/verify.h"

namespace kq::tools {

using ReportProblem = std::function<void(const std::string& problem)>;

// What a verb may touch. Its tests put a scripted broker and streams of their own here.
struct CtlWorld {
  std::ostream& out;
  std::ostream& err;
  std::function<Expected<producer::Client>(const std::string& url, const std::string& key)> connect;
  std::function<std::int64_t()> unix_now_ms;
  std::function<bool(std::int64_t ms)> nap;  // true: whoever waits should give up
  // Of stores on this machine, as store/verify.h and store/backup.h say; only a main may know the real ones.
  std::function<Expected<store::Verified>(const std::string& dir, const ReportProblem&)> verify;
  std::function<Expected<store::Verified>(const std::string& from, const std::string& dir, const ReportProblem&)>
      restore;
};

// argv[0] is the verb's full name, "kq-ctl stats". The code of a verb that has done its work; an Error is for the
// caller to tell.
using RunCtl = Expected<ExitCode> (*)(int argc, const char* const* argv, const CtlWorld& world);

struct CtlVerb {
  std::string_view name;
  RunCtl run;
  std::string_view doc;
};
std::span<const CtlVerb> ctl_verbs();

// The whole program: argv as main has it. Returns the exit code.
int run_ctl(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
