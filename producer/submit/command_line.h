// The command line of kq-submit. A flag overrides the environment, and the environment overrides the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "producer/submit/submit.h"

namespace kq::producer {

enum class ProgressStyle { automatic, json, none };

struct SubmitCommandLine {
  SubmitRequest request;
  std::string broker;
  std::string key;  // the path of the key file; empty: none
  bool wait = false;
  std::optional<std::int64_t> timeout_ms;  // the limit of the wait for room and for the verdicts together
  bool force_rerun = false;                // the caller sets a random salt
  bool keep_going = false;
  bool json = false;
  bool dry_run = false;
  bool exit_zero = false;
  bool quiet = false;
  std::vector<std::string> share{};  // the names with which the run is shared
  ProgressStyle progress = ProgressStyle::automatic;
  std::string spool;                 // the path of the folder; empty: none
  bool reads_stdin = false;          // whether PATH is "-"; the caller writes standard input to a file
  std::vector<std::string> notes{};  // one sentence for each ignored option
};

// The end of a call without jobs: --help or --version (code ok, text for standard output), or a mistake (code
// bad_input, a sentence for standard error).
struct EarlyEnd {
  ExitCode code = ExitCode::bad_input;
  std::string text;
  std::string run = "";  // that of --run, as far as the words could be read
};

std::variant<SubmitCommandLine, EarlyEnd> parse_submit_command_line(int argc, const char* const* argv);

}  // namespace kq::producer
