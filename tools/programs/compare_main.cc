// kq-compare: compares runs with the first of them, kernel by kernel, and tells changes of time from noise.
#include <charconv>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "producer/client/sentences.h"
#include "producer/client/standard_output.h"
#include "store/rocks/rocks_store.h"
#include "sys/clock.h"
#include "tools/cli/flags.h"
#include "tools/cli/output_file.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/report/compare/compare_html.h"
#include "tools/report/compare/compare_text.h"
#include "tools/report/source_name.h"
#include "tools/stack/stack.h"
#include "tools/stack/stop_signals.h"
#include "tools/table/columns.h"

namespace {

using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-compare";
constexpr std::size_t kRunsMax = 20;

struct Options {
  std::string base;
  std::vector<std::string> runs;
  std::string format;  // empty: by the ending of the output
  std::string out = "-";
  std::string metric = "time";
  std::string by;
  std::string alpha = "0.01";
  std::string change_min_pct = "3";
  bool all = false;
  bool fail_on_regression = false;
  kq::tools::SourceOptions source;
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  kq::tools::Flags flags(
      kProgram,
      "Compares runs with the first one, label by label: what passes or fails now, and what became faster or slower "
      "beyond the noise, by the rank-sum test of Mann and Whitney on the raw samples.");
  flags.argument("base", "the run that the others are compared with", options.base);
  flags.arguments("run", "further runs", options.runs);
  flags.format("format of the output (default: by the ending of FILE, else table)", options.format,
               {"table", "json", "html"});
  flags.option("-o,--out", "FILE", "file to write (default: -, standard output)", options.out);
  flags.choice("--metric", "what times are compared by: time, or speedup over the run's own reference (default: time)",
               options.metric, {"time", "speedup"});
  flags.choice("--by", "table: count the changes by author, device, version or problem as well", options.by,
               {"author", "device", "version", "problem"});
  flags.option("--alpha", "NUMBER", "rate of chance findings among the changes of time (default: 0.01)", options.alpha);
  flags.option("--min-change", "PERCENT", "a change of time by less is none (default: 3)", options.change_min_pct);
  flags.flag("--all", "table: list kernels without a change as well", options.all);
  flags.flag("--fail-on-regression",
             "exit with code 1 when a kernel that passed fails, is slower, or is missing; with 4 when one is "
             "unfinished, with 5 when no time could be compared or the new run measured nothing anew",
             options.fail_on_regression);
  kq::tools::add_flags(flags, options.source);
  return flags.parse(argc, argv);
}

// Returns the format of an output that has none named: html and json by the ending, else table.
Expected<std::string> format_of_file(const std::string& out) {
  const std::string ending = std::filesystem::path(out).extension().string();
  if (ending == ".html" || ending == ".htm") return "html";
  if (ending == ".json") return "json";
  if (ending == ".txt" || !kq::tools::ends_as_a_file(out)) return "table";
  return kq::bad_input("the FILE of -o must end in .html, .json or .txt, got '" + kq::tools::printable(out) +
                       "'; --format table, json or html is for a file of another name");
}

Expected<double> number(const std::string& name, const std::string& text, double max) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value <= max)) {
    return kq::bad_input(name + " must be a number from 0 to " + std::to_string(static_cast<int>(max)) + ", got '" +
                         kq::tools::printable(text) + "'");
  }
  return value;
}

Expected<kq::tools::RunResults> results_of(kq::tools::Source& source, const std::string& run) {
  kq::tools::RunResults results;
  const auto add = [&](const kq::RunRow& row) {
    results.emplace(row.entry.submission.label, kq::tools::kernel_result(row));
    return Expected<void>();
  };
  KQ_TRY(kq::tools::each_row(source, run, add, true));
  if (results.empty()) return kq::failure(kq::tools::no_such_run(source, run));
  return results;
}

Expected<std::string> text_of(const Options& options, const std::vector<kq::tools::Comparison>& comparisons,
                              const kq::tools::CompareOptions& how) {
  if (options.format == "json") return kq::producer::to_text(kq::tools::compare_json(comparisons, how)) + '\n';
  if (options.format == "table") {
    std::string text;
    for (const kq::tools::Comparison& one : comparisons)
      text += (text.empty() ? "" : "\n") + kq::tools::compare_table(one, {.all = options.all, .by = options.by});
    return text;
  }
  KQ_TRY_VALUE(const auto files, kq::tools::read_page_files(kq::tools::program_folder() + "/../share/kq/report"));
  const kq::tools::Cell now = kq::tools::utc_time(kq::sys::unix_now_ms());
  return kq::tools::compare_page(files, comparisons, how, kq::tools::source_name(options.source),
                                 std::get<std::string>(now).substr(0, 19) + "Z");
}

// Returns the exit code of --fail-on-regression for one run. Where the comparison cannot tell, it says so.
ExitCode judge(const kq::tools::Comparison& comparison) {
  const std::string run = kq::tools::printable(comparison.run);
  switch (kq::tools::regression_finding(comparison)) {
    case kq::tools::RegressionFinding::none:
      return ExitCode::ok;
    case kq::tools::RegressionFinding::regressed:
      return ExitCode::job_failed;
    case kq::tools::RegressionFinding::unfinished:
      std::cerr << kProgram << ": whether run " << run << " has regressions is not known, because "
                << kq::producer::counted(comparison.count(kq::tools::Change::unfinished), "kernel")
                << (comparison.count(kq::tools::Change::unfinished) == 1 ? " is" : " are") << " unfinished\n";
      return ExitCode::gave_up;
    case kq::tools::RegressionFinding::nothing_compared:
      std::cerr << kProgram << ": whether run " << run
                << " has regressions is not known, because no kernel that passed in the base run ran on the same "
                   "device model against the same problem\n";
      return ExitCode::nothing;
    case kq::tools::RegressionFinding::nothing_measured:
      std::cerr << kProgram << ": whether run " << run
                << " has regressions is not known, because each of its kernels that could be compared has the job of "
                   "the base run; kq submit --force-rerun measures again\n";
      return ExitCode::nothing;
  }
  return ExitCode::our_fault;
}

// Compares the runs and returns the exit code.
Expected<ExitCode> work(Options& options) {
  if (options.runs.empty()) return kq::bad_input("name at least two runs: kq compare BASE RUN");
  if (options.runs.size() > kRunsMax)
    return kq::bad_input("at most " + std::to_string(kRunsMax) + " runs are compared at once");
  if (options.format.empty()) {
    KQ_TRY_VALUE(options.format, format_of_file(options.out));
  }
  kq::tools::CompareOptions how;
  KQ_TRY_VALUE(how.alpha, number("--alpha", options.alpha, 1));
  KQ_TRY_VALUE(how.change_min, number("--min-change", options.change_min_pct, 1000));
  how.change_min /= 100;
  how.metric = options.metric == "time" ? kq::tools::Metric::time : kq::tools::Metric::speedup;
  KQ_TRY_VALUE(const auto open, kq::tools::open_source(options.source, [](const std::string& folder) {
                 return kq::store::open_rocks_store(folder, kq::store::OpenMode::read_only);
               }));
  KQ_TRY_VALUE(const auto base, results_of(*open.source, options.base));
  std::vector<kq::tools::RunResults> others;
  std::vector<kq::tools::Comparison> comparisons;
  others.reserve(options.runs.size());  // comparisons refer to the results
  for (const std::string& run : options.runs) {
    KQ_TRY_VALUE(auto results, results_of(*open.source, run));
    others.push_back(std::move(results));
    comparisons.push_back(kq::tools::compare_runs(options.base, base, run, others.back(), how));
  }
  KQ_TRY_VALUE(const std::string text, text_of(options, comparisons, how));
  KQ_TRY_VALUE(auto file, kq::tools::OutputFile::open(options.out));
  KQ_TRY(file.write(text));
  KQ_TRY(file.commit());
  if (!options.fail_on_regression) return ExitCode::ok;
  // The exit code of a regression takes precedence over those of unfinished and incomparable kernels.
  ExitCode code = ExitCode::ok;
  for (const kq::tools::Comparison& comparison : comparisons) {
    const ExitCode one = judge(comparison);
    if (code == ExitCode::ok || one == ExitCode::job_failed) code = one;
  }
  return code;
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  const auto done = work(options);
  return done ? static_cast<int>(*done) : report_error(kProgram, done.error());
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
