// The program kq-ctl: a table of verbs (ctl.cc), and the function that looks up a verb and runs it.
//
// A group of verbs has a header and a source of its own. To add a verb, write a function of type RunVerb and add a row
// to the table.
#pragma once

#include <span>
#include <string_view>

#include "core/base/error.h"

namespace kq::tools {

struct CtlWorld;

// Runs one verb. argv[0] is the full name of the verb, such as "kq-ctl stats". Returns the exit code of a verb that has
// done its work, or an Error, which the caller prints.
using RunVerb = Expected<ExitCode> (*)(int argc, const char* const* argv, const CtlWorld& world);

struct CtlVerb {
  std::string_view name;
  RunVerb run;
  std::string_view doc;
};
std::span<const CtlVerb> ctl_verbs();

// Runs the whole program with the arguments of main(), and returns the exit code of the process.
int run_ctl(int argc, const char* const* argv, const CtlWorld& world);

}  // namespace kq::tools
