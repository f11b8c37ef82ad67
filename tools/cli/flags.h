// Parses the command line of one program, with the --help, --version and error messages that all programs of kq share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace kq::tools {

// A declared set of flags and arguments. Each declaration names a variable; parse() sets the variable from the command
// line, else from the environment, else leaves its value, which is the default. `doc` is the text in --help.
class Flags {
 public:
  Flags(std::string program, std::string about);
  ~Flags();

  // Puts the options that are declared next under this heading of --help.
  void group(const std::string& name);
  // Sets the examples at the end of --help, each on a line that begins with two spaces.
  void examples(const std::string& lines);

  // A required argument without dashes. Arguments are assigned in the order of their declarations.
  void argument(const std::string& name, const std::string& doc, std::string& into);
  // `known` are the values that --help and the completion of shells list. Others are not refused here.
  void optional_argument(const std::string& name, const std::string& doc, std::string& into,
                         const std::vector<std::string>& known = {});
  // One run, as an argument without dashes or as `--run NAME`; empty where it is left out.
  void run(const std::string& doc, std::string& into);
  // Any number of runs, as arguments without dashes. `--run NAME` means the same, as in programs whose arguments are
  // paths or jobs.
  void runs(const std::string& doc, std::vector<std::string>& into);
  // Any number of arguments without dashes, after all others.
  void arguments(const std::string& name, const std::string& doc, std::vector<std::string>& into);
  // An option with a value. `names` is like "-o,--out"; `value` is the placeholder in --help, such as "FILE"; `env` is
  // the environment variable that is read when the option is absent.
  void option(const std::string& names, const std::string& value, const std::string& doc, std::string& into,
              const std::string& env = "");
  // An option with a value that may be given several times.
  void repeatable_option(const std::string& names, const std::string& value, const std::string& doc,
                         std::vector<std::string>& into);
  // An option whose value is a number of seconds above 0.
  void seconds(const std::string& names, const std::string& doc, std::optional<double>& into);
  // An option whose value is a whole number from `min` to `max`.
  void number(const std::string& names, const std::string& doc, std::uint32_t& into, std::uint32_t min,
              std::uint32_t max);
  // An option whose value must be one of `known`.
  void choice(const std::string& names, const std::string& doc, std::string& into,
              const std::vector<std::string>& known);
  void flag(const std::string& names, const std::string& doc, bool& into);
  // `--format`, whose value must be one of `known`, with `--json`, `--jsonl` and `--csv` as short forms of those values
  // that are in `known`.
  void format(const std::string& doc, std::string& into, const std::vector<std::string>& known);
  // `--json`, and `--format json` as in programs that know more formats. `doc` describes the JSON.
  void json(const std::string& doc, bool& into);
  // Declares `--json`, `--jsonl` and `--csv` as far as they are in `known`. Each sets `into`, the value of `--format`.
  void short_formats(std::string& into, const std::vector<std::string>& known);

  // Parses the command line. Returns nothing when the program should go on. Otherwise returns the code with which the
  // program should end: --help or --version has been printed, or one sentence about a mistake on standard error.
  std::optional<ExitCode> parse(int argc, const char* const* argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// Prints "PROGRAM: sentence" on standard error and returns the exit code of the Error.
int report_error(const std::string& program, const Error& error);

}  // namespace kq::tools
