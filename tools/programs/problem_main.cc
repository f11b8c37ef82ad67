// kq-problem: looks at problems before kernels are evaluated against them.
//
// kq problem check submits a few probes for each file as ordinary jobs (tools/problem/probes.h), to a broker or to
// programs that it starts, and reports what their results say about the problem (tools/problem/report.h).
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "producer/client/standard_output.h"
#include "producer/client/submitter.h"
#include "tools/cli/flags.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/problem/probes.h"
#include "tools/problem/report.h"
#include "tools/stack/evaluation.h"

namespace {

using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-problem";
constexpr std::size_t kFilesMax = 10'000;  // files of one call

struct Options {
  std::string verb;
  std::vector<std::string> files;
  std::string broker;
  std::string key;
  std::string state;
  std::string device = "any";
  std::string submitter;
  std::optional<double> timeout_s;
  bool json = false;
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  kq::tools::Flags flags(
      kProgram,
      "Looks at problems before a sweep: kq problem check FILE... asks whether the reference agrees with itself, "
      "whether "
      "inputs and outputs vary, whether a kernel that returns zeros, a constant or its first input would pass, and how "
      "far times spread. Without --broker it starts a broker and a worker on this machine and stops them at the end.\n"
      "The exit code is 0 when nothing is wrong, 1 when a problem is wrong, 2 for bad input, 3 when a problem could "
      "not "
      "be run here.");
  flags.argument("verb", "check", options.verb);
  flags.arguments("file", "problems, as Python files", options.files);
  flags.option("--broker", "URL", "use this broker and its workers instead of starting programs", options.broker,
               "KQ_BROKER");
  flags.option("--key", "FILE", "your key file, for a broker that requires keys", options.key, "KQ_KEY");
  flags.option("--state", "DIR",
               "folder of the jobs and results of a broker that kq-problem starts (default: $XDG_STATE_HOME/kq); "
               "KQ_BROKER is ignored when it is given",
               options.state);
  flags.choice("--device", "kind of device that the problems run on", options.device, {"any", "cpu", "cuda"});
  flags.option("--submitter", "NAME", "name of the submitter whose share and quota the jobs use (default: USER@HOST)",
               options.submitter, "KQ_SUBMITTER");
  flags.seconds("--timeout", "stop waiting after this many seconds", options.timeout_s);
  flags.json("print one JSON object for each file, on a line of its own", options.json);
  if (const auto end = flags.parse(argc, argv)) return end;
  // --state names the folder of a broker that this program starts, so it wins over KQ_BROKER, but not over --broker.
  bool says_broker = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    says_broker = says_broker || word == "--broker" || word.starts_with("--broker=");
  }
  if (!options.state.empty() && !says_broker) options.broker.clear();
  return std::nullopt;
}

// Returns what is wrong with the words of the command line, or nothing.
std::optional<std::string> mistake(const Options& options) {
  if (options.verb != "check") return "there is no verb '" + kq::tools::printable(options.verb) + "'; check is one";
  if (options.files.empty()) return "no files are named; name the files of problems";
  if (options.files.size() > kFilesMax) {
    return std::to_string(options.files.size()) + " files are named; at most " + std::to_string(kFilesMax) +
           " are possible in one call";
  }
  return std::nullopt;
}

using Rows = std::map<std::string, kq::RunRow>;  // by label

kq::tools::ProblemReport report_of(const kq::tools::ProbedProblem& problem, const Rows& rows) {
  if (!problem.mistake.empty()) return report_of_mistake(problem);
  std::map<kq::tools::Probe, kq::RunRow> its_rows;
  for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
    const auto found = rows.find(problem.jobs[i].submission.label);
    if (found != rows.end()) its_rows.emplace(static_cast<kq::tools::Probe>(i), found->second);
  }
  return report_of_rows(problem.file, its_rows);
}

// Runs the jobs and returns their rows in `rows`. Returns the exit code where the program should end at once.
std::optional<int> evaluate(const Options& options, const kq::producer::Prepared& prepared, Rows& rows) {
  kq::tools::Evaluation evaluation({.program = kProgram,
                                    .broker = options.broker,
                                    .key = options.key,
                                    .state = options.state,
                                    .device = options.device,
                                    .timeout_s = options.timeout_s});
  const auto outcome =
      evaluation.run(prepared, [&](kq::producer::Client& client, const kq::producer::SubmitSummary& submitted) {
        return kq::tools::each_row(*kq::tools::broker_source(client), submitted.run,
                                   [&](const kq::RunRow& row) -> Expected<void> {
                                     rows.insert_or_assign(row.entry.submission.label, row);
                                     return {};
                                   });
      });
  if (evaluation.signal()) {
    std::cerr << kProgram << ": stopped by a signal; the same command continues with the unfinished jobs\n";
    return kq::tools::exit_code_of_signal(*evaluation.signal());
  }
  if (!outcome) return report_error(kProgram, outcome.error());
  if (outcome->end == kq::producer::WaitEnd::timed_out) {
    return report_error(
        kProgram,
        {ErrorKind::gave_up, "gave up waiting, some jobs are not finished; the same command continues with them"});
  }
  return std::nullopt;
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  if (const auto wrong = mistake(options)) return report_error(kProgram, {ErrorKind::bad_input, *wrong});

  // Files that cannot be read are reported before a process is started.
  std::vector<kq::tools::ProbedProblem> problems;
  const auto device = *kq::parse_enum<kq::DeviceWish>(options.device);
  for (const std::string& file : options.files) {
    auto probed = kq::tools::probe_problem(file, problems.size() + 1, device);
    if (!probed) return report_error(kProgram, {ErrorKind::bad_input, kq::tools::printable(probed.error().message)});
    problems.push_back(std::move(*probed));
  }
  kq::producer::Prepared prepared{
      .run = run_of(problems),
      .submitter = options.submitter.empty() ? kq::producer::default_submitter() : options.submitter,
      .jobs = {},
      .mistakes = {}};
  for (const auto& problem : problems)
    prepared.jobs.insert(prepared.jobs.end(), problem.jobs.begin(), problem.jobs.end());

  Rows rows;
  if (!prepared.jobs.empty()) {
    if (const auto code = evaluate(options, prepared, rows)) return *code;
  }
  std::vector<kq::tools::ProblemReport> reports;
  for (const auto& problem : problems) reports.push_back(report_of(problem, rows));
  for (const auto& report : reports) {
    std::cout << (options.json ? kq::producer::to_text(problem_json(report, prepared.run)) + '\n'
                               : problem_text(report));
  }
  std::cout << std::flush;
  return static_cast<int>(exit_code_of(reports));
}

}  // namespace

int main(int argc, char** argv) {
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
