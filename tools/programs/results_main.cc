// kq-results: prints the verdicts of a run as a table or as JSON, and returns one exit code for all of them.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
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
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/stack/stop_signals.h"
#include "tools/table/columns.h"
#include "tools/views/results_view.h"

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
  bool json = false;
  bool cases = false;
  bool exit_zero = false;
  bool quiet = false;
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  kq::tools::Flags flags(
      kProgram,
      "Prints the verdicts of a run. The exit code is 0 when all jobs passed, 1 when a job did not pass, 3 when a job "
      "ended as abandoned because of failures of kq, 4 when a job is not finished, 5 when there is no such run.");
  std::vector<std::string> runs;
  flags.runs("name of the run", runs);
  flags.group("What is printed");
  flags.flag("--failed", "print only the jobs that did not pass, with the evidence", options.failed);
  flags.flag("--cases", "print a row for each workload of a job; with --json an array in each row", options.cases);
  flags.flag("--json", "print one JSON object with all columns of the rows", options.json);
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
      "  kq-results r1 --wait --timeout 600 --json");
  if (const auto end = flags.parse(argc, argv)) return end;
  if (runs.size() != 1) {
    std::cerr << kProgram
              << (runs.empty() ? ": RUN is required; kq ctl runs lists the runs\n"
                               : ": one RUN is needed; kq dump writes several\n");
    return ExitCode::bad_input;
  }
  options.run = runs.front();
  return std::nullopt;
}

// Waits until every job of the run is finished or the --timeout has passed, and shows the progress meanwhile.
Expected<void> wait_for_run(kq::tools::OpenSource& opened, const Options& options) {
  kq::producer::WaitList jobs;
  const auto visited = kq::tools::each_row(*opened.source, options.run, [&](const kq::RunRow& row) {
    const kq::Submission& submission = row.entry.submission;
    jobs.add({row.job.seq, kq::requirements_of(submission)});
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

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  if (options.wait && !options.source.store.empty()) {
    return report_error(
        kProgram, {ErrorKind::bad_input,
                   "--wait and --store exclude each other: --wait needs a running broker, --store reads without one"});
  }
  if (options.timeout_s)
    options.source.answer_ms = std::min<std::int64_t>(
        options.source.answer_ms, std::max<std::int64_t>(1, std::llround(*options.timeout_s * 1e3)));
  Expected<kq::tools::OpenSource> opened = kq::tools::open_source(options.source, [](const std::string& folder) {
    return kq::store::open_rocks_store(folder, kq::store::OpenMode::read_only);
  });
  if (!opened) return report_error(kProgram, opened.error());
  if (options.wait && opened->client != nullptr) {
    if (const auto waited = wait_for_run(*opened, options); !waited) return report_error(kProgram, waited.error());
  }

  kq::tools::ResultsView view({.json = options.json,
                               .only_failed = options.failed,
                               .cases = options.cases,
                               .colours = kq::sys::takes_colour(STDOUT_FILENO)},
                              options.run);
  const auto print = [](const std::string& text) { std::cout << text; };
  const auto visited = kq::tools::each_row(*opened->source, options.run, [&](const kq::RunRow& row) {
    print(view.add(row));
    return Expected<void>();
  });
  if (!visited) return report_error(kProgram, visited.error());
  if (view.row_count() == 0)
    return report_error(kProgram,
                        {ErrorKind::not_found, "there is no run '" + kq::tools::printable(options.run) + "'"});
  print(view.finish());
  std::cout << std::flush;
  const ExitCode code = view.exit_code();
  if (code == ExitCode::job_failed && !options.json && ::isatty(STDOUT_FILENO) == 1) {
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
