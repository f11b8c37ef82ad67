// kq-results: prints the verdicts of a run as a table or as JSON, and returns one exit code for all of them.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "producer/client/progress.h"
#include "producer/client/sentences.h"
#include "producer/client/standard_output.h"
#include "producer/client/wait.h"
#include "store/rocks/rocks_store.h"
#include "sys/clock.h"
#include "sys/colour.h"
#include "tools/cli/flags.h"
#include "tools/cli/label_filter.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/exporters/exporter.h"
#include "tools/stack/stop_signals.h"
#include "tools/table/columns.h"
#include "tools/table/selection.h"
#include "tools/views/results_view.h"
#include "tools/views/side_by_side.h"

namespace {

using kq::Error;
using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-results";

struct Options {
  std::string run;
  kq::tools::SourceOptions source;
  std::optional<double> timeout_s;
  bool wait = false;
  bool failed = false;
  std::string format = "table";
  bool cases = false;
  bool side_by_side = false;
  bool kernels = false;
  bool exit_zero = false;
  bool quiet = false;
  std::vector<std::string> labels;
  std::vector<std::string> where;
  bool source_text = false;

  bool is_json() const { return format == "json"; }
};

// The rows that the command line asks for: those of its labels that meet its conditions.
struct Wanted {
  kq::tools::LabelFilter labels;
  kq::tools::Selection conditions;
  std::size_t met_count = 0;  // rows of the labels that meet the conditions
  std::size_t row_count = 0;  // rows of the labels

  bool takes(const kq::RunRow& row) {
    if (!labels.takes(row.entry.submission.label)) return false;
    ++row_count;
    if (!conditions.matches(row)) return false;
    ++met_count;
    return true;
  }
};

Expected<Wanted> wanted_of(const Options& options) {
  KQ_TRY_VALUE(auto conditions, kq::tools::Selection::make({.where = options.where}, kq::sys::unix_now_ms()));
  return Wanted{.labels = kq::tools::LabelFilter(options.labels), .conditions = std::move(conditions)};
}

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  kq::tools::Flags flags(
      kProgram,
      "Prints the verdicts of a run. The exit code is 0 when all jobs passed, 1 when a job did not pass, 3 when a job "
      "ended as abandoned because of failures of kq, 4 when a job is not finished, 5 when there is no such run or "
      "label.");
  flags.run("name of the run", options.run);
  flags.arguments("LABEL", "print only the jobs with these labels; a pattern such as 'gelu/*' means several",
                  options.labels);
  flags.group("What is printed");
  flags.flag("--failed", "print only the jobs that did not pass, with the evidence", options.failed);
  flags.repeatable_option("--where", "CONDITION",
                          "print only the jobs that meet this condition on a column of kq-dump, such as "
                          "verdict=timed_out or speedup>=2; may be repeated",
                          options.where);
  flags.flag("--cases", "print a row for each workload of a job; with --json an array in each row", options.cases);
  flags.flag("--side-by-side",
             "print the submissions of kq submit --judged-by both: what their problem's own program reports, beside "
             "what kq's judge found",
             options.side_by_side);
  flags.flag("--kernels", "print a row for each kernel that the GPU ran for a job", options.kernels);
  flags.flag("--source", "print only the sources of the job with the one LABEL", options.source_text);
  flags.format("format of the output: json is one object, and csv has the lines of kq-dump (default: table)",
               options.format, {"table", "csv", "json"});
  flags.group("Waiting");
  flags.flag("--wait", "wait until every job is finished", options.wait);
  flags.seconds("--timeout", "stop waiting for the jobs, or for an answer of the broker, after this many seconds",
                options.timeout_s);
  flags.flag("-q,--quiet", "print no progress while waiting", options.quiet);
  flags.flag("--exit-zero", "exit with code 0 instead of 1 when a job did not pass", options.exit_zero);
  kq::tools::add_flags(flags, options.source);
  flags.examples(
      "  kq-results r1\n"
      "  kq-results r1 --failed\n"
      "  kq-results r1 'gelu/*' --where verdict=wrong_answer\n"
      "  kq-results r1 --wait --timeout 600 --json");
  if (const auto end = flags.parse(argc, argv)) return end;
  if (!options.run.empty()) return std::nullopt;
  std::cerr << kProgram << ": RUN is required; kq ctl runs lists the runs\n";
  return ExitCode::bad_input;
}

// Waits until every job of the run is finished or the --timeout has passed, and shows the progress meanwhile.
Expected<void> wait_for_run(kq::tools::OpenSource& opened, const Options& options) {
  kq::producer::WaitList jobs;
  kq::tools::LabelFilter labels(options.labels);
  const auto visited = kq::tools::each_row(*opened.source, options.run, [&](const kq::RunRow& row) {
    const kq::Submission& submission = row.entry.submission;
    if (labels.takes(submission.label)) jobs.add({row.job.seq, kq::requirements_of(submission)});
    return Expected<void>();
  });
  if (!visited) return visited;
  kq::producer::StatusLine line(kq::producer::stderr_status_line(), kq::sys::monotonic_now_ms());
  kq::producer::WaitOptions wait = kq::producer::real_wait_options();
  if (options.timeout_s) wait.timeout_ms = static_cast<std::int64_t>(*options.timeout_s * 1e3);
  wait.progress = [&](const kq::producer::Tally& tally) {
    if (!options.quiet) line.update(tally, kq::sys::monotonic_now_ms());
  };
  KQ_TRY_VALUE(const auto outcome, kq::producer::wait_for(*opened.client, std::move(jobs), wait));
  line.end();
  if (outcome.end == kq::producer::WaitEnd::timed_out) {
    const std::size_t unfinished_count = outcome.tally().total - outcome.tally().finished;
    std::cerr << kProgram << ": the --timeout has passed; " << kq::producer::counted(unfinished_count, "job")
              << (unfinished_count == 1 ? " is" : " are") << " not finished\n";
  }
  return {};
}

// Prints the sources of one label as they are, or made printable if standard output is a terminal.
Expected<void> print_sources(kq::tools::Source& source, const Options& options) {
  const std::string& label = options.labels.front();
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  KQ_TRY_VALUE(const auto found, kq::tools::one_row(source, options.run, label));
  if (!found) {
    return kq::failure(Error{ErrorKind::not_found, "there is no label '" + kq::tools::printable(label) + "' in run '" +
                                                       kq::tools::printable(options.run) + "'"});
  }
  const auto& files = found->entry.submission.files;
  for (const kq::SourceFile& file : files) {
    KQ_TRY_VALUE(const auto reply, source.file({.run = options.run, .label = label, .hash = file.hash}));
    if (files.size() > 1) std::cout << "==> " << kq::tools::printable(file.name) << " <==\n";
    std::string_view text = reply.bytes.view();
    while (is_terminal && !text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::cout << kq::tools::printable(text.substr(0, end)) << '\n';
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::cout << text;
  }
  std::cout << std::flush;
  return {};
}

// Prints a sentence for each of these labels, which the run does not have, and returns the exit code.
int report_missing(kq::tools::Source& source, const std::string& run, const std::set<std::string>& labels) {
  int code = static_cast<int>(ExitCode::nothing);
  for (const std::string& label : labels) code = report_error(kProgram, kq::tools::no_such_job(source, run, label));
  return code;
}

// Returns the error of options that exclude each other, or nothing.
std::optional<Error> conflict_in(const Options& options) {
  const auto bad = [](const char* text) { return Error{ErrorKind::bad_input, text}; };
  if (options.source_text && (options.labels.size() != 1 || !options.where.empty()))
    return bad("--source goes with the run and one label of it");
  if (options.wait && !options.source.store.empty())
    return bad("--wait and --store exclude each other: --wait needs a running broker, --store reads without one");
  if (options.side_by_side && (options.is_json() || options.cases || options.failed))
    return bad("--side-by-side goes without --json, --cases and --failed");
  if (options.format == "csv" && (options.side_by_side || options.cases || options.kernels))
    return bad(
        "--csv goes without --cases, --kernels and --side-by-side; kq dump --level case writes a row for each "
        "workload");
  return std::nullopt;
}

// Prints why no row was wanted or why a label matched none, and returns the exit code; nothing where all is well.
std::optional<int> report_unmet(kq::tools::Source& source, const Options& options, const Wanted& wanted) {
  if (!wanted.labels.unmatched().empty()) return report_missing(source, options.run, wanted.labels.unmatched());
  if (wanted.row_count == 0) return report_error(kProgram, kq::tools::no_such_run(source, options.run));
  if (wanted.met_count > 0) return std::nullopt;
  return report_error(kProgram, {ErrorKind::not_found,
                                 "none of the " + kq::producer::counted(wanted.row_count, "job") + " meets --where"});
}

// Prints the rows with all columns, as kq-dump does, and returns the exit code.
int print_csv(kq::tools::Source& source, const Options& options, Wanted& wanted) {
  const auto columns = kq::tools::Selection::make({}, kq::sys::unix_now_ms());
  auto csv = kq::tools::open_csv({.out = "-"}, *columns);
  if (!csv) return report_error(kProgram, csv.error());
  kq::tools::ResultsView view({.only_failed = options.failed}, options.run);  // for the exit code
  const auto visited = kq::tools::each_row(source, options.run, [&](const kq::RunRow& row) {
    if (!wanted.takes(row)) return Expected<void>();
    (void)view.add(row);
    const bool has_passed = row.result && name_of(row.result->verdict) == kq::VerdictName::passed;
    return options.failed && has_passed ? Expected<void>() : (*csv)->add(row);
  });
  if (!visited) return report_error(kProgram, visited.error());
  if (wanted.met_count == 0) return report_unmet(source, options, wanted).value_or(0);
  if (const auto written = (*csv)->finish(); !written) return report_error(kProgram, written.error());
  if (const auto unmet = report_unmet(source, options, wanted)) return *unmet;
  const ExitCode code = view.exit_code();
  return static_cast<int>(code == ExitCode::job_failed && options.exit_zero ? ExitCode::ok : code);
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  if (const auto error = conflict_in(options)) return report_error(kProgram, *error);
  auto wanted = wanted_of(options);
  if (!wanted) return report_error(kProgram, wanted.error());
  if (options.timeout_s)
    options.source.answer_ms = std::min<std::int64_t>(
        options.source.answer_ms, std::max<std::int64_t>(1, std::llround(*options.timeout_s * 1e3)));
  Expected<kq::tools::OpenSource> opened = kq::tools::open_source(options.source, [](const std::string& folder) {
    return kq::store::open_rocks_store(folder, kq::store::OpenMode::read_only);
  });
  if (!opened) return report_error(kProgram, opened.error());
  if (options.source_text) {
    const auto printed = print_sources(*opened->source, options);
    return printed ? 0 : report_error(kProgram, printed.error());
  }
  if (options.wait && opened->client != nullptr) {
    if (const auto waited = wait_for_run(*opened, options); !waited) return report_error(kProgram, waited.error());
  }
  if (options.format == "csv") return print_csv(*opened->source, options, *wanted);

  kq::tools::SideBySide side_by_side;
  kq::tools::ResultsView view({.json = options.is_json(),
                               .only_failed = options.failed,
                               .kernels = options.kernels,
                               .cases = options.cases,
                               .colours = kq::sys::takes_colour(STDOUT_FILENO)},
                              options.run);
  const auto print = [](const std::string& text) { std::cout << text; };
  const auto visited = kq::tools::each_row(*opened->source, options.run, [&](const kq::RunRow& row) {
    if (!wanted->takes(row)) return Expected<void>();
    const std::string text = view.add(row);
    if (options.side_by_side) {
      side_by_side.add(row);
    } else {
      print(text);
    }
    return Expected<void>();
  });
  if (!visited) return report_error(kProgram, visited.error());
  if (wanted->met_count == 0) return report_unmet(*opened->source, options, *wanted).value_or(0);
  if (options.side_by_side && !side_by_side.has_pairs())
    return report_error(kProgram, {ErrorKind::not_found,
                                   "no submission of the run was judged in both ways; kq submit "
                                   "--judged-by both sends such jobs"});
  print(options.side_by_side ? side_by_side.table_text() : view.finish());
  std::cout << std::flush;
  const ExitCode code = view.exit_code();
  if (const auto unmet = report_unmet(*opened->source, options, *wanted)) return *unmet;
  if (code == ExitCode::job_failed && !options.is_json() && ::isatty(STDOUT_FILENO) == 1) {
    const std::string run = kq::producer::shell_quoted(options.run);
    std::cerr << kProgram << ": "
              << (options.failed ? "kq show " + run + " LABEL shows a job with its log and sources\n"
                                 : "kq results " + run + " --failed shows why jobs did not pass\n");
  }
  return static_cast<int>(code == ExitCode::job_failed && options.exit_zero ? ExitCode::ok : code);
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
