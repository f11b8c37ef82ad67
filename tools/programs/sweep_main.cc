// kq-sweep: evaluates a folder of kernels on this machine and prints the verdicts and a leaderboard, in one command.
//
// Without --broker, kq-sweep starts a broker and a worker and stops them before it ends (tools/stack/evaluation.h). It
// does what kq-submit, kq-results and kq-dump would do one after the other. The state folder keeps jobs, results and
// builds for the next sweep.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "producer/client/sentences.h"
#include "producer/client/standard_output.h"
#include "producer/client/submitter.h"
#include "producer/client/wait.h"
#include "producer/submit/judge_options.h"
#include "producer/submit/naming_options.h"
#include "producer/submit/output.h"
#include "producer/submit/submit.h"
#include "sys/clock.h"
#include "sys/colour.h"
#include "tools/cli/flags.h"
#include "tools/cli/output_file.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/exporters/dump_metadata.h"
#include "tools/exporters/exporter.h"
#include "tools/stack/evaluation.h"
#include "tools/stack/stop_signals.h"
#include "tools/views/sweep_report.h"

namespace {

using namespace std::string_literals;
using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-sweep";
const std::string kWrongCommandLine = "the command line is wrong; standard error says what is";

struct Options {
  std::vector<std::string> paths;
  std::string run;
  std::string broker;
  std::string key;
  std::string state;
  std::string device = "any";
  std::string gpu;
  kq::producer::JudgeOptionTexts judging;
  kq::producer::NamingTexts naming;
  std::string priority;
  std::string submitter;
  std::string problem;
  std::string problems;
  std::string expect;
  std::string csv;
  std::optional<double> timeout_s;
  bool keep_going = false;
  bool exit_zero = false;
  bool json = false;
  bool quiet = false;
  bool force_rerun = false;
  bool dry_run = false;
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  kq::tools::Flags flags(
      kProgram,
      "Evaluates a folder of kernels and prints the verdicts and the leaderboard. Without --broker it starts a broker "
      "and a worker on this machine and stops them at the end.");
  flags.group("What is evaluated");
  flags.arguments("PATH", "a folder or file of kernels, or a pattern in quotes, as for kq submit; may be repeated",
                  options.paths);
  flags.option("--run", "NAME", "name of the run (default: the name of the first PATH)", options.run);
  flags.option("--problem", "FILE", "file of the problem, for single kernel files", options.problem);
  flags.option("--problems", "DIR", "folder in which problems are looked up", options.problems);
  flags.option("--author", "NAME", kq::producer::kAuthorHelp, options.naming.author);
  flags.repeatable_option("--tag", "NAME=VALUE", kq::producer::kTagHelp, options.naming.tags);
  flags.flag("--keep-going", "leave out kernels with mistakes and evaluate the rest", options.keep_going);
  flags.flag("--force-rerun", "run jobs again that already have a verdict", options.force_rerun);
  flags.flag("--dry-run", "check and list the kernels, and start, send and evaluate nothing", options.dry_run);
  flags.option("--expect", "FILE", "CSV file of the expected outcomes, with the header job,device,verdict,reason",
               options.expect);
  flags.group("How it is judged");
  for (auto& given : options.judging.all()) {
    if (given.option.value == nullptr) {
      flags.flag(given.option.flag, given.option.help, given.is_set);
    } else {
      flags.option(given.option.flag, given.option.value, given.option.help, given.text);
    }
  }
  flags.group("Where it runs");
  flags.choice("--device", "kind of device that the jobs run on", options.device, {"any", "cpu", "cuda"});
  flags.option("--gpu", "MODEL", "GPU model that the jobs run on, such as 'NVIDIA H200'", options.gpu);
  flags.option(
      "--state", "DIR",
      "folder of the jobs, results and builds of a broker that kq-sweep starts, or shares with another kq that "
      "runs there (default: $XDG_STATE_HOME/kq); KQ_BROKER is ignored when it is given",
      options.state);
  flags.option("--broker", "URL", "use this broker and its workers instead of starting programs", options.broker,
               "KQ_BROKER");
  flags.option("--key", "FILE", "your key file, for a broker that requires keys", options.key, "KQ_KEY");
  flags.choice("--priority", "priority of the jobs at a broker that has other jobs", options.priority,
               {"low", "normal", "high"});
  flags.option("--submitter", "NAME",
               "name of the submitter whose share and quota the jobs use (default: USER@HOST, with a share of its own "
               "beside other jobs)",
               options.submitter, "KQ_SUBMITTER");
  flags.group("Waiting and output");
  flags.seconds("--timeout", "stop waiting after this many seconds", options.timeout_s);
  flags.option("--csv", "FILE",
               "also write the rows to this file, as kq-dump does: CSV, or JSON Lines for FILE.jsonl; "
               "for -, standard output, the report goes to standard error",
               options.csv);
  flags.json("print one JSON object on standard output", options.json);
  flags.flag("-q,--quiet", "print the report and errors only, without progress", options.quiet);
  flags.flag("--exit-zero", "exit with code 0 instead of 1 when a job did not pass", options.exit_zero);
  flags.examples(
      "  kq-sweep examples/sweep\n"
      "  kq-sweep kernels --problem problems/gelu.py --device cpu\n"
      "  kq-sweep 'runs/*/gelu_*.py' --problems KernelBench --run gelu --csv gelu.csv");
  if (const auto end = flags.parse(argc, argv)) return end;
  if (options.paths.empty()) {
    std::cerr << kProgram << ": PATH is required, a folder or file of kernels (kq-sweep --help lists the options)\n";
    return ExitCode::bad_input;
  }
  // --state names the folder of a broker that this program starts, so it wins over KQ_BROKER, but not over --broker.
  const bool says_broker = std::any_of(
      argv, argv + argc, [](std::string_view word) { return word == "--broker" || word.starts_with("--broker="); });
  if (!options.state.empty() && !says_broker) options.broker.clear();
  return std::nullopt;
}

Expected<kq::producer::SubmitRequest> request_of(const Options& options) {
  kq::producer::SubmitRequest request;
  for (const std::string& path : options.paths) {
    KQ_TRY_VALUE(const auto inputs, kq::producer::expanded_input(path));
    request.inputs.insert(request.inputs.end(), inputs.begin(), inputs.end());
  }
  request.run = options.run;
  request.submitter = options.submitter.empty() ? kq::producer::default_submitter() : options.submitter;
  request.options.now_ms = kq::sys::unix_now_ms();
  request.options.priority = kq::parse_enum<kq::Priority>(options.priority);
  KQ_TRY(options.judging.apply(request.options));
  KQ_TRY(options.naming.apply(request.options));
  if (options.device != "any") request.options.device = kq::parse_enum<kq::DeviceWish>(options.device);
  if (!options.gpu.empty()) request.options.gpu_model = options.gpu;
  if (options.force_rerun) {
    KQ_TRY_VALUE(request.salt, kq::producer::random_salt());
  }
  if (!options.problem.empty()) request.options.problem = options.problem;
  if (!options.problems.empty()) request.options.problems = options.problems;
  return request;
}

// Prints what would be evaluated, as kq-submit --dry-run does.
ExitCode show_dry_run(const kq::producer::Prepared& prepared, bool is_json) {
  const auto print = [](const std::string& text) { std::cout << text; };
  kq::producer::JobList list(print);
  list.name_run(prepared.run);
  for (const kq::producer::PackedJob& job : prepared.jobs)
    is_json ? list.add(prepared.run, kq::producer::dry_run_json(job)) : print(kq::producer::dry_run_line(job));
  const ExitCode code = prepared.mistakes.empty() ? ExitCode::ok : ExitCode::bad_input;
  if (is_json)
    list.end(kq::producer::end_members(
        {.left_out_count = prepared.left_out_count, .notes = prepared.notes, .errors = prepared.mistakes},
        static_cast<int>(code)));
  std::cout << std::flush;
  return code;
}

// Prints the object of --json for a sweep that ends without a report. Returns the exit code.
int end_without_report(const Options& options, const std::string& run, const kq::producer::EndOfCall& faults,
                       int code) {
  if (options.json) std::cout << kq::tools::sweep_json(run, faults, code) << std::flush;
  return code;
}

int failed(const Options& options, const std::string& run, kq::producer::EndOfCall faults, const kq::Error& error) {
  faults.errors.push_back(error.message);
  return end_without_report(options, run, faults, report_error(kProgram, error));
}

// Returns the format of the file of --csv, which its ending decides.
Expected<std::string> format_of_rows(const std::string& file) {
  return kq::tools::format_of_file(file, "");
}

// One sweep: evaluates the jobs, gathers the rows, prints the report.
class Sweep {
 public:
  // `words` are the arguments of the command line, for the command that goes on with this sweep.
  Sweep(const Options& options, std::optional<kq::tools::Expectations> expectations, std::vector<std::string> words,
        kq::producer::EndOfCall faults)
      : options_(options),
        words_(std::move(words)),
        faults_(std::move(faults)),
        expectations_(std::move(expectations)),
        evaluation_({.program = kProgram,
                     .broker = options.broker,
                     .key = options.key,
                     .state = options.state,
                     .device = options.device,
                     .timeout_s = options.timeout_s,
                     .is_quiet = options.quiet}) {}

  // Runs the sweep and returns the exit code. No process that it started outlives the call.
  int run(const kq::producer::Prepared& prepared) {
    run_ = prepared.run;
    const auto outcome =
        evaluation_.run(prepared, [&](kq::producer::Client& client, const kq::producer::SubmitSummary& submitted) {
          return gather(client, submitted);
        });
    faults_.notes.insert(faults_.notes.end(), evaluation_.notes().begin(), evaluation_.notes().end());
    if (evaluation_.signal()) {
      const bool lacks_rows = !options_.csv.empty() && !is_gathered_;
      tell("stopped by a signal; finished jobs are kept; " +
           (!lacks_rows           ? std::string()
            : options_.csv == "-" ? "the rows on standard output are not complete; "
                                  : options_.csv + " was not written; ") +
           evaluation_.next_commands(run_, words_));
      const int code = kq::tools::exit_code_of_signal(*evaluation_.signal());
      if (!is_gathered_) return end_without_report(options_, run_, faults_, code);
      print_report(code);
      return code;
    }
    if (!outcome) return failed(options_, run_, faults_, outcome.error());
    const int code = static_cast<int>(exit_code(*outcome));
    if (report_) print_report(code);
    if (report_ && !options_.json && !options_.quiet && report_->not_passed_count() > 0)
      std::cerr << kProgram << ": kq results " << kq::producer::shell_quoted(prepared.run) << " --failed"
                << evaluation_.place_options() << " shows why jobs did not pass; kq show "
                << kq::producer::shell_quoted(prepared.run) << " LABEL" << evaluation_.place_options()
                << " shows one of them\n";
    if (report_ && !options_.json && !options_.quiet && !prepared.run.empty())
      std::cerr << kProgram << ": kq report " << kq::producer::shell_quoted(prepared.run) << evaluation_.place_options()
                << " writes a page with plots and every job\n";
    return code;
  }

 private:
  // Prints the report on standard output, or on standard error where the rows of --csv are on standard output.
  void print_report(int code) {
    const bool is_beside_rows = options_.csv == "-";
    std::ostream& stream = is_beside_rows ? std::cerr : std::cout;
    const bool takes_colour = kq::sys::takes_colour(is_beside_rows ? STDERR_FILENO : STDOUT_FILENO);
    stream << (options_.json ? report_->json(faults_, code) : report_->text(takes_colour)) << std::flush;
  }

  // Reads all rows of the run once, for the report and for --csv.
  Expected<void> gather(kq::producer::Client& client, const kq::producer::SubmitSummary& submitted) {
    report_.emplace(submitted, expectations_ ? &*expectations_ : nullptr);
    const auto all = kq::tools::Selection::make({}, kq::sys::unix_now_ms());
    std::unique_ptr<kq::tools::Export> csv;
    std::string format;
    if (!options_.csv.empty()) {
      KQ_TRY_VALUE(format, format_of_rows(options_.csv));
      KQ_TRY_VALUE(auto opened, kq::tools::find_exporter(format)->open({.out = options_.csv}, *all));
      csv = std::move(opened);
    }
    const auto visited = kq::tools::each_row(
        *kq::tools::broker_source(client), submitted.run,
        [&](const kq::RunRow& row) { return report_->add(row) && csv ? csv->add(row) : Expected<void>(); });
    if (!visited) return visited;
    report_->finish();
    if (csv) KQ_TRY(csv->finish());
    is_gathered_ = true;
    if (!csv || !kq::tools::can_have_metadata(options_.csv)) return {};
    return kq::tools::write_dump_metadata({.file = options_.csv,
                                           .run = submitted.run,
                                           .source = evaluation_.place(),
                                           .format = format,
                                           .selection = {},
                                           .columns = kq::tools::names_of(*all),
                                           .row_count = csv->row_count(),
                                           .made_at_ms = kq::sys::unix_now_ms()});
  }

  // Writes a sentence to standard error and into the object of --json.
  void tell(const std::string& sentence) {
    std::cerr << kProgram << ": " << sentence << '\n';
    faults_.errors.push_back(sentence);
  }

  ExitCode exit_code(const kq::producer::WaitOutcome& outcome) {
    if (outcome.end == kq::producer::WaitEnd::timed_out) {
      tell("gave up waiting, " + std::to_string(outcome.tally().total - outcome.tally().finished) + " of " +
           std::to_string(outcome.tally().total) + " jobs are not finished; " +
           evaluation_.next_commands(run_, words_));
      return ExitCode::gave_up;
    }
    ExitCode code =
        expectations_ ? (report_->agrees() ? ExitCode::ok : ExitCode::job_failed) : kq::producer::exit_code_of(outcome);
    if (code == ExitCode::job_failed && options_.exit_zero) code = ExitCode::ok;
    // As in kq-submit, mistakes outweigh verdicts in the exit code, but not a failure of the sweep itself.
    const bool is_about_verdicts = code == ExitCode::ok || code == ExitCode::job_failed;
    return !faults_.errors.empty() && is_about_verdicts ? ExitCode::bad_input : code;
  }

  const Options& options_;
  const std::vector<std::string> words_;
  kq::producer::EndOfCall faults_;
  std::string run_;
  std::optional<kq::tools::Expectations> expectations_;
  kq::tools::Evaluation evaluation_;
  std::optional<kq::tools::SweepReport> report_;
  bool is_gathered_ = false;  // whether the report is whole, and the rows are in the file of --csv
};

int run(int argc, char** argv) {
  Options options;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (const auto code = parse(argc, argv, options)) {
    options.json = *code != ExitCode::ok && std::ranges::find(words, "--json") != words.end();
    return end_without_report(options, options.run, {.errors = {kWrongCommandLine}}, static_cast<int>(*code));
  }

  // Mistakes in the command line and in the files are reported before a process is started.
  if (options.csv == "-" && options.json)
    return failed(options, options.run, {},
                  {ErrorKind::bad_input,
                   "--csv - and --json both write to standard output; name a "
                   "file for --csv"});
  std::optional<kq::tools::Expectations> expectations;
  if (!options.expect.empty()) {
    Expected<kq::tools::Expectations> read = kq::tools::Expectations::read(options.expect);
    if (!read) return failed(options, options.run, {}, read.error());
    expectations = std::move(*read);
  }
  const auto request = request_of(options);
  if (!request) return failed(options, options.run, {}, request.error());
  const kq::producer::Prepared prepared = kq::producer::prepare(*request);
  const kq::producer::EndOfCall faults{
      .left_out_count = prepared.left_out_count, .notes = prepared.notes, .errors = prepared.mistakes};
  const bool has_valid_jobs = !prepared.jobs.empty() && !kq::name_error(prepared.run);
  for (const std::string& mistake : prepared.mistakes) {
    const bool is_last = has_valid_jobs && !options.keep_going && &mistake == &prepared.mistakes.back();
    std::cerr << kProgram << ": " << kq::tools::printable(mistake)
              << (is_last ? "; nothing was evaluated, use --keep-going to evaluate the rest\n" : "\n");
  }
  if (!prepared.mistakes.empty() && !(has_valid_jobs && options.keep_going))
    return end_without_report(options, prepared.run, faults, static_cast<int>(ExitCode::bad_input));
  for (const std::string& note : prepared.notes) std::cerr << kProgram << ": " << kq::tools::printable(note) << '\n';
  if (prepared.jobs.empty())
    return failed(options, prepared.run, faults,
                  {ErrorKind::not_found, "there are no kernels in " + options.paths.front()});
  if (options.dry_run) return static_cast<int>(show_dry_run(prepared, options.json));
  if (!options.csv.empty()) {
    if (const auto format = format_of_rows(options.csv); !format)
      return failed(options, prepared.run, faults, format.error());
    if (const auto place = kq::tools::OutputFile::open(options.csv); !place)
      return failed(options, prepared.run, faults, place.error());
  }
  const int code = Sweep(options, std::move(expectations), words, faults).run(prepared);
  if (prepared.left_out_count > 0)
    std::cerr << kProgram << ": " << kq::producer::left_out_text(prepared.left_out_count, "evaluated") << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
