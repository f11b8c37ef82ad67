// kq-check: checks files against the guard's rules. It needs no broker, no GPU and no torch.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "core/limits.h"
#include "producer/client/standard_output.h"
#include "sys/nearest.h"
#include "tools/check/inputs.h"
#include "tools/check/report.h"
#include "tools/cli/flags.h"
#include "tools/cli/text.h"
#include "tools/stack/stack.h"
#include "tools/stack/stop_signals.h"

namespace {

using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-check";

struct Options {
  std::vector<std::string> paths;
  std::string format = "text";
  std::string language = "auto";
  std::string explain;
  bool rules = false;
  bool times = false;
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  std::vector<std::string> languages;
  for (const std::string_view name : kq::kEnumNames<kq::tools::Language>) languages.emplace_back(name);
  kq::tools::Flags flags(
      kProgram,
      "Checks kernels against the rules of the evaluator, such as those about streams, clocks and hidden programs. It "
      "needs no GPU.\n"
      "The exit code is 0 when no rule rejects a file, 1 when one does, 2 when a file could not be checked.");
  flags.arguments("file", "Python, C++ or CUDA sources, built libraries, folders of sources, or - for standard input",
                  options.paths);
  flags.format("format of the report; sarif is for code scanners (default: text)", options.format,
               {"text", "json", "sarif"});
  flags.choice("--language", "language of the files; auto decides by name and content (default: auto)",
               options.language, languages);
  flags.option("--explain", "RULE", "print what this rule finds and why, and check nothing", options.explain);
  flags.flag("--rules", "list the rules, and check nothing", options.rules);
  flags.flag("--times", "also print on standard error how long the files took", options.times);
  return flags.parse(argc, argv);
}

int explain(const std::string& name) {
  if (const kq::guard::Rule* rule = kq::guard::find_rule(name)) {
    std::cout << kq::tools::explanation_text(*rule) << std::flush;
    return static_cast<int>(ExitCode::ok);
  }
  std::vector<std::string> known;
  for (const kq::guard::Rule& rule : kq::guard::rules()) known.emplace_back(rule.name);
  const auto meant = kq::sys::nearest(name, known);
  return report_error(kProgram,
                      {ErrorKind::bad_input, "there is no rule '" + kq::tools::printable(name) + "'" +
                                                 (meant ? "; did you mean " + *meant + "?" : "; --rules lists them")});
}

kq::tools::FactsChildOptions facts_child() {
  const char* python = std::getenv("KQ_PYTHON");
  return {.python = python != nullptr && *python != '\0' ? python : "python3",
          .harness = kq::tools::program_folder() + "/../share/kq/harness"};
}

// Checks one file and adds the findings to `report`, or the reason why the file could not be checked. Returns an Error
// only for a failure of kq itself.
Expected<void> check(const kq::tools::InputFile& file, kq::tools::Language wanted, kq::tools::Checker& checker,
                     kq::tools::CheckReport& report) {
  const std::string path = file.path == "-" ? "<stdin>" : file.path;
  auto bytes = kq::tools::read_input(file.path, kq::tools::kLibraryBytesMax);
  if (!bytes) {
    report.unchecked.push_back({.path = path, .message = bytes.error().message});
    return {};
  }
  const auto language =
      wanted == kq::tools::Language::automatic ? kq::tools::language_of(path, *bytes) : std::optional(wanted);
  if (!language) {
    report.unchecked.push_back(
        {.path = path, .message = "has a name of neither Python, C++ nor a library; --language names its language"});
    return {};
  }
  if (*language != kq::tools::Language::library && bytes->size() > kq::kFileBytesMax) {
    report.unchecked.push_back({.path = path,
                                .message = "is larger than " + std::to_string(kq::kFileBytesMax) +
                                           " bytes, the limit for a file of a submission"});
    return {};
  }
  const auto headers = *language == kq::tools::Language::cuda && file.path != "-"
                           ? kq::tools::headers_beside(file.path)
                           : std::vector<kq::tools::CheckInput>{};
  std::vector<kq::guard::CppSource> sources;
  for (const kq::tools::CheckInput& header : headers) sources.push_back({.name = header.path, .text = header.bytes});
  return checker.check({.path = path, .bytes = std::move(*bytes)}, *language, sources, report);
}

int exit_code(const kq::tools::CheckReport& report) {
  if (!report.unchecked.empty()) return static_cast<int>(ExitCode::bad_input);
  return static_cast<int>(kq::guard::first_rejected(report.findings) != nullptr ? ExitCode::job_failed : ExitCode::ok);
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  if (!options.explain.empty()) return explain(options.explain);
  if (options.rules) {
    std::cout << (options.format == "text" ? kq::tools::rules_text() : kq::tools::rules_json()) << std::flush;
    return static_cast<int>(ExitCode::ok);
  }
  if (options.paths.empty())
    return report_error(kProgram,
                        {ErrorKind::bad_input, "no files are named; name files or folders, or - for standard input"});

  const auto files = kq::tools::find_inputs(options.paths);
  if (!files) return report_error(kProgram, files.error());
  if (files->empty())
    return report_error(
        kProgram, {ErrorKind::bad_input, "there are no sources in " + kq::tools::printable(options.paths.front())});
  kq::tools::Checker checker(facts_child());
  kq::tools::CheckReport report;
  for (const kq::tools::InputFile& file : *files) {
    const auto done = check(file, *kq::parse_enum<kq::tools::Language>(options.language), checker, report);
    if (!done) return report_error(kProgram, done.error());
  }
  std::cout << (options.format == "text"   ? kq::tools::report_text(report)
                : options.format == "json" ? kq::tools::report_json(report)
                                           : kq::tools::report_sarif(report))
            << std::flush;
  for (const kq::tools::UncheckedFile& one : report.unchecked) {
    std::cerr << kProgram << ": " << kq::tools::printable(one.path) << ":" << one.line << " "
              << kq::tools::printable(one.message) << "\n";
  }
  if (options.times) std::cerr << kProgram << ": " << kq::tools::times_text(report) << "\n";
  return exit_code(report);
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
