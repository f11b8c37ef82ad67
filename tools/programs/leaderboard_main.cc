// kq-leaderboard: prints the fastest correct kernel of each problem on each device model, of one run or of all runs; or
// the figures that KernelBench's own analysis would print for a run.
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "producer/client/sentences.h"
#include "producer/client/standard_output.h"
#include "store/rocks/rocks_store.h"
#include "sys/clock.h"
#include "tools/cli/flags.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/kernelbench/summary.h"
#include "tools/report/boards/board_folder.h"
#include "tools/report/source_name.h"
#include "tools/stack/stack.h"
#include "tools/stack/stop_signals.h"
#include "tools/table/columns.h"
#include "tools/views/board_formats.h"
#include "tools/views/boards.h"
#include "tools/views/user_ranks.h"

namespace {

using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-leaderboard";

struct Options {
  std::string run;
  std::string format = "table";
  std::string baseline;
  std::string pass_at_k = "1";
  std::string html;
  std::string base_url;
  bool no_reports = false;
  bool kernelbench = false;
  bool whole = false;
  bool strict = false;
  std::string by;
  std::uint32_t top = 1;
  bool users = false;
  bool no_findings = false;
  std::string problem;
  kq::tools::SourceOptions source;

  kq::tools::BoardOptions board() const {
    return {.by = by, .top = top, .leaves_out_findings = no_findings, .problem = problem};
  }
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  kq::tools::Flags flags(
      kProgram,
      "Prints the fastest passed kernel of each problem on each device model, the geometric mean of the speedups, and "
      "fast_p: the fraction of problems solved more than p times as fast as the reference.");
  std::vector<std::string> runs;
  flags.runs("name of the run (default: the boards of all runs)", runs);
  flags.group("What is printed");
  flags.format("format of the output (default: table)", options.format, {"table", "csv", "json"});
  flags.option("--problem", "NAME", "print the boards of this problem only", options.problem);
  flags.option("--by", "COLUMN",
               "print the best of each value of author, backend or tag.NAME, and the figures of each value",
               options.by);
  flags.number("--top", "print so many kernels of each problem with their ranks", options.top, 1, 1'000'000);
  flags.flag("--users",
             "print the ranks of the users of the run, or of all runs, as GPU MODE's boards have them: the best kernel "
             "of each author, or "
             "submitter where none is given; times that do not differ beyond the noise share a rank",
             options.users);
  flags.flag("--no-findings",
             "leave out submissions of the run in which the guard found something for review (column findings)",
             options.no_findings);
  flags.group("As pages");
  flags.option(
      "--html", "DIR",
      "write the boards as static pages for a web server, with boards.json and a feed of new records, feed.xml",
      options.html);
  flags.option("--base-url", "URL", "html: where the folder will be served, for the links of the feed",
               options.base_url);
  flags.flag("--no-reports", "html: leave out the reports of the runs, to which the entries link", options.no_reports);
  flags.group("As KernelBench");
  flags.flag("--kernelbench",
             "print the run's figures as KernelBench's analysis defines them: mean times of sample 0, and pass@k",
             options.kernelbench);
  flags.option("--baseline", "FILE",
               "kernelbench: take reference times from this baseline file (default: those measured in the run)",
               options.baseline);
  flags.option("--pass-at-k", "K,...", "kernelbench: values of k for pass@k (default: 1)", options.pass_at_k);
  flags.flag("--whole-level", "kernelbench: count problems of a level that the run lacks as failures", options.whole);
  flags.flag("--strict", "kernelbench: count a GPU fault or a timeout as not compiled, as KernelBench does",
             options.strict);
  kq::tools::add_flags(flags, options.source);
  flags.examples(
      "  kq-leaderboard\n"
      "  kq-leaderboard --problem softmax --top 10\n"
      "  kq-leaderboard r1 --by tag.model\n"
      "  kq-leaderboard r1 --top 5 --format csv");
  if (const auto end = flags.parse(argc, argv)) return end;
  if (runs.size() > 1) {
    std::cerr << kProgram << ": at most one RUN is taken; without one the boards of all runs are printed\n";
    return ExitCode::bad_input;
  }
  if (!runs.empty()) options.run = runs.front();
  return std::nullopt;
}

std::string formatted(const kq::tools::Leaderboard& board, const std::string& format) {
  if (format == "csv") return kq::tools::leaderboard_csv(board);
  if (format == "json") return kq::producer::to_text(kq::tools::leaderboard_json(board)) + '\n';
  return kq::tools::leaderboard_table(board);
}

std::string formatted(const kq::tools::KernelBenchSummary& summary, const std::string& format) {
  if (format == "csv") return kq::tools::kernelbench_csv(summary);
  if (format == "json") return kq::producer::to_text(kq::tools::kernelbench_json(summary)) + '\n';
  return kq::tools::kernelbench_table(summary);
}

void say(const std::string& sentence) {
  std::cerr << kProgram << ": " << sentence << '\n';
}

Expected<void> check_problem_option(const Options& options) {
  if (options.problem.empty() || (!options.users && !options.kernelbench && options.html.empty())) return {};
  return kq::bad_input("--problem does not go with --users, --kernelbench and --html");
}

// Prints the boards of a run, or of all runs. The first place of each board of all runs is read from the boards that
// the broker keeps; more kernels, other splits and the boards of one problem are made of the rows of all runs.
Expected<void> show_boards(kq::tools::Source& source, const Options& options) {
  const Expected<kq::tools::Leaderboard> board =
      options.run.empty() && options.problem.empty() && !options.board().is_ranking()
          ? kq::tools::leaderboard_of_boards(source)
          : kq::tools::leaderboard_of_runs(source, options.run, options.board());
  if (!board) return kq::failure(board.error());
  const std::string other_names = kq::tools::other_names_text(board->other_names);
  if (board->rows.empty() && !options.problem.empty())
    return kq::failure(kq::Error{ErrorKind::not_found,
                                 "no job of problem '" + kq::tools::printable(options.problem) + "' is on a board; " +
                                     (other_names.empty() ? "kq leaderboard lists the problems" : other_names)});
  std::cout << formatted(*board, options.format) << std::flush;
  if (!other_names.empty()) say(other_names);
  if (board->left_out_count > 0)
    say("left out " + kq::producer::counted(board->left_out_count, "passed job") + " with findings of the guard");
  if (board->rows.empty() && options.run.empty())
    return kq::failure(kq::Error{ErrorKind::not_found, "there are no boards yet: no job has passed"});
  return {};
}

Expected<void> show_users(kq::tools::Source& source, const Options& options) {
  if (options.kernelbench || options.board().is_ranking() || options.format == "json")
    return kq::bad_input("--users goes without --by, --top and --kernelbench, and with the formats table and csv");
  std::vector<std::string> runs{options.run};
  if (options.run.empty()) {
    KQ_TRY_VALUE(runs, kq::tools::all_runs(source));
  }
  kq::tools::UserRanks ranks;
  bool is_known = options.run.empty();
  for (const std::string& run : runs) {
    KQ_TRY(kq::tools::each_row_with_reruns(source, run, [&](const kq::RunRow& row) {
      is_known = true;
      if (!options.no_findings || !row.result || row.result->findings.empty()) ranks.add(row);
      return Expected<void>();
    }));
  }
  ranks.finish();
  if (!is_known) return kq::failure(kq::tools::no_such_run(source, options.run));
  if (ranks.is_empty())
    return kq::failure(kq::Error{
        ErrorKind::not_found,
        "no submission has a rank" + (options.run.empty() ? "" : " in '" + kq::tools::printable(options.run) + "'")});
  std::cout << (options.format == "csv" ? ranks.csv() : ranks.table_text()) << std::flush;
  return {};
}

Expected<void> check_findings_option(const Options& options) {
  const bool reads_rows = !options.run.empty() || options.board().is_ranking();
  if (!options.no_findings || (reads_rows && !options.kernelbench)) return {};
  return kq::bad_input(
      "--no-findings goes with --run NAME, --top or --by and without --kernelbench; the boards of all runs keep only "
      "their first row");
}

struct KernelBenchOptions {
  std::vector<std::uint32_t> ks;
  std::optional<kq::tools::KernelBenchBaseline> baseline;
};

Expected<KernelBenchOptions> check_kernelbench_options(const Options& options) {
  if (!options.kernelbench &&
      (!options.baseline.empty() || options.whole || options.strict || options.pass_at_k != "1")) {
    return kq::bad_input("--baseline, --pass-at-k, --whole-level and --strict go with --kernelbench");
  }
  if (options.kernelbench && options.run.empty())
    return kq::bad_input("--kernelbench needs a RUN, because it shows one run");
  if (options.kernelbench && (!options.by.empty() || options.top > 1))
    return kq::bad_input("--by and --top do not go with --kernelbench");
  KQ_TRY(kq::tools::validate(options.board()));
  KernelBenchOptions kernelbench;
  KQ_TRY_VALUE(auto ks, kq::tools::parse_pass_at_k(options.pass_at_k));
  kernelbench.ks = std::move(ks);
  if (!options.baseline.empty()) {
    KQ_TRY_VALUE(auto baseline, kq::tools::read_kernelbench_baseline(options.baseline));
    kernelbench.baseline = std::move(baseline);
  }
  return kernelbench;
}

Expected<void> show_kernelbench(kq::tools::Source& source, const Options& options,
                                const KernelBenchOptions& kernelbench) {
  kq::tools::KernelBenchFigures figures;
  std::size_t row_count = 0, only_compiled_count = 0;
  const auto visited = kq::tools::each_row(source, options.run, [&](const kq::RunRow& row) {
    ++row_count;
    only_compiled_count +=
        figures.add(row, options.strict).added == kq::tools::KernelBenchFigures::Added::only_compiled ? 1 : 0;
    return Expected<void>();
  });
  if (!visited) return visited;
  if (row_count == 0) return kq::failure(kq::tools::no_such_run(source, options.run));
  if (figures.levels().empty()) {
    return kq::bad_input("run '" + kq::tools::printable(options.run) +
                         "' has no job of a KernelBench problem; such a job has the tags level and problem_id, or a "
                         "label like level_1_problem_2_sample_0");
  }
  std::cout << formatted({.run = options.run,
                          .figures = figures,
                          .baseline = kernelbench.baseline ? &*kernelbench.baseline : nullptr,
                          .whole = options.whole,
                          .ks = kernelbench.ks},
                         options.format)
            << std::flush;
  if (only_compiled_count > 0)
    say(std::to_string(only_compiled_count) +
        " rows of the run are left out: their verdict is compiled_only, so no device has run them");
  for (const std::uint32_t level : figures.levels()) {
    for (const std::string& warning : figures.pass_at_k_warnings(level, kernelbench.ks)) say(warning);
  }
  return {};
}

Expected<void> write_pages(kq::tools::Source& source, const Options& options) {
  if (options.kernelbench || options.users || options.format != "table" || options.board().is_ranking() ||
      options.no_findings)
    return kq::bad_input(
        "--html writes a folder with all kernels of each board; it does not go with --kernelbench, --users, --by, "
        "--top, "
        "--no-findings or --format");
  const kq::tools::Cell now = kq::tools::utc_time(kq::sys::unix_now_ms());
  KQ_TRY_VALUE(const auto written,
               kq::tools::write_board_folder(source, {.folder = options.html,
                                                      .run = options.run,
                                                      .base_url = options.base_url,
                                                      .source = kq::tools::source_name(options.source),
                                                      .made_at = std::get<std::string>(now).substr(0, 19) + "Z",
                                                      .page_files = kq::tools::program_folder() + "/../share/kq/report",
                                                      .has_reports = !options.no_reports}));
  std::cout << options.html << "/index.html: " << kq::producer::counted(written.board_count, "board") << '\n';
  if (written.removed_count > 0)
    say("removed " + kq::producer::counted(written.removed_count, "page") + " of earlier calls from " + options.html);
  return {};
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  if (options.html.empty() && (!options.base_url.empty() || options.no_reports))
    return report_error(kProgram, {ErrorKind::bad_input, "--base-url and --no-reports go with --html DIR"});
  if (!options.base_url.empty() && !options.base_url.starts_with("http://") &&
      !options.base_url.starts_with("https://"))
    return report_error(kProgram, {ErrorKind::bad_input, "--base-url must begin with https:// or http://, got '" +
                                                             kq::tools::printable(options.base_url) + "'"});
  const auto kernelbench = check_kernelbench_options(options);
  if (!kernelbench) return report_error(kProgram, kernelbench.error());
  for (const auto& checked : {check_findings_option(options), check_problem_option(options)}) {
    if (!checked) return report_error(kProgram, checked.error());
  }
  const Expected<kq::tools::OpenSource> open = kq::tools::open_source(options.source, [](const std::string& folder) {
    return kq::store::open_rocks_store(folder, kq::store::OpenMode::read_only);
  });
  if (!open) return report_error(kProgram, open.error());
  const auto shown = !options.html.empty() ? write_pages(*open->source, options)
                     : options.users       ? show_users(*open->source, options)
                     : options.kernelbench ? show_kernelbench(*open->source, options, *kernelbench)
                                           : show_boards(*open->source, options);
  return shown ? static_cast<int>(ExitCode::ok) : report_error(kProgram, shown.error());
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
