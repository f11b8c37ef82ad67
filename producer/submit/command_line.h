// What kq-submit was asked for: flags, then the environment, then defaults.
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
  std::string key;  // file; empty: none
  bool wait = false;
  std::optional<std::int64_t> timeout_ms;  // of all waiting together: for room in the queue, then for the verdicts
  bool force_rerun = false;                // the caller draws the salt
  bool keep_going = false;
  bool json = false;
  bool dry_run = false;
  bool exit_zero = false;
  bool quiet = false;
  ProgressStyle progress = ProgressStyle::automatic;
  std::string spool;                 // folder; empty: none
  bool reads_stdin = false;          // "-" was the PATH; the caller puts a file in its place
  std::vector<std::string> notes{};  // for people: words that are passed over
};

// Nothing to run: --help or --version (code ok, text for stdout), or a mistake (code bad_input, a sentence for stderr).
struct EarlyEnd {
  ExitCode code = ExitCode::bad_input;
  std::string text;
};

std::variant<SubmitCommandLine, EarlyEnd> parse_submit_command_line(int argc, const char* const* argv);

}  // namespace kq::producer
