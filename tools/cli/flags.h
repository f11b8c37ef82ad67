// The command line of one program: declared once, parsed here, with the answers every program of kq gives alike.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace kq::tools {

// Declares where each value goes, then fills it in from the command line, else from the environment, else leaves the
// default standing.
class Flags {
 public:
  Flags(std::string program, std::string about);
  ~Flags();

  // A word without dashes, in order of declaration.
  void argument(const std::string& name, const std::string& doc, std::string& into);
  // Any number of such words, after all others.
  void arguments(const std::string& name, const std::string& doc, std::vector<std::string>& into);
  // `names` as in "-o,--out"; `value` is the word that stands for it in --help.
  void option(const std::string& names, const std::string& value, const std::string& doc, std::string& into,
              const std::string& env = "");
  // The same, as often as one likes.
  void repeatable_option(const std::string& names, const std::string& value, const std::string& doc, std::vector<std::string>& into);
  // Seconds, more than 0.
  void seconds(const std::string& names, const std::string& doc, std::optional<double>& into);
  void choice(const std::string& names, const std::string& doc, std::string& into,
              const std::vector<std::string>& known);
  void flag(const std::string& names, const std::string& doc, bool& into);

  // Nothing: go on. Otherwise the program ends with this code: --help and --version have been answered on stdout, or a
  // wrong command line has been answered on stderr in one sentence.
  std::optional<ExitCode> parse(int argc, const char* const* argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// "kq-dump: sentence" on stderr, and the exit code that goes with it: for the one place where a program gives up.
int report_error(const std::string& program, const Error& error);

}  // namespace kq::tools
