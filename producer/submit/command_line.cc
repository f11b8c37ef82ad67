#include "producer/submit/command_line.h"

#include <glob.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/version.h"
#include "net/endpoint.h"
#include "producer/client/submitter.h"
#include "producer/client/when.h"
#include "producer/submit/kernelbench_options.h"
#include "sys/clock.h"

namespace kq::producer {
namespace {

constexpr double kTimeoutSecondsMax = 30.0 * 24 * 3600;

constexpr const char* kFooter = R"(
A PATH is a .jsonl file or a directory with a submissions.jsonl, a KernelBench run (a directory with files named
level_L_problem_P_sample_S_kernel.py), a KernelBench checkout or level folder (each reference against itself), a .py, .cu, .ptx or .cubin file, or a
directory of them, with --problem FILE or a comment kq: problem=FILE; X.cu needs its arguments in X.json beside it. A pattern in quotes
('k/*.py') is looked up; - is standard input: JSON Lines, or one kernel. Words like level=1 are options of KernelBench's scripts.

Exit codes: 0 done (with --wait: every kernel passed), 1 a kernel did not pass, 2 bad input, nothing was sent, 3 no broker or
jobs abandoned by the machines, 4 --timeout is over, 130 interrupted.

Examples:
  kq-submit examples/sweep --wait
  kq-submit add.py --problem problems/add.py --device cpu --wait
  kq-submit runs/mine --problems KernelBench --gpu "NVIDIA H200" --run mine)";

// The words as they stand on the command line, before any of them is judged.
struct Words {
  std::vector<std::string> inputs;
  std::string problem, problems, backend, device, gpu, precision, baseline, profile, run;
  std::string broker{net::kDefaultBrokerUrl};
  std::string priority, not_before, deadline, submitter, input_format;
  std::string progress = "auto";
  std::vector<std::string> labels;
  std::string time_limit_s;
  double timeout_s = 0;
  std::uint32_t repeat = 1;
};

template <NamedEnum E>
Expected<std::optional<E>> parse_word(const char* flag, const std::string& word) {
  if (word.empty()) return std::optional<E>{};
  if (const auto value = parse_enum<E>(word)) return value;
  return bad_input(std::string(flag) + " must be one of " + known_names<E>() + ", got '" + word + "'");
}

Expected<std::optional<std::int64_t>> parse_time(const char* flag, const std::string& word, std::int64_t now_ms) {
  if (word.empty()) return std::optional<std::int64_t>{};
  const auto when = parse_when(word, now_ms);
  if (!when) return bad_input(std::string(flag) + " " + when.error().message);
  return std::optional(*when);
}

// Priority, times, labels and the submitter.
Expected<void> judge_turn(const Words& words, SubmitRequest& request) {
  request.options.now_ms = sys::unix_now_ms();
  const auto priority = parse_word<Priority>("--priority", words.priority);
  const auto not_before = parse_time("--not-before", words.not_before, request.options.now_ms);
  const auto deadline = parse_time("--deadline", words.deadline, request.options.now_ms);
  if (!priority) return failure(priority.error());
  if (!not_before) return failure(not_before.error());
  if (!deadline) return failure(deadline.error());
  if (*deadline && **deadline <= request.options.now_ms) {
    return bad_input("--deadline is over already, got '" + words.deadline + "'");
  }
  if (!words.time_limit_s.empty()) {
    const auto limit = parse_limit(words.time_limit_s);
    if (!limit) return bad_input("--time-limit " + limit.error().message);
    request.options.time_limit_ms = *limit;
  }
  for (const std::string& label : words.labels) {
    if (const auto wrong = name_error(label)) return bad_input("--require '" + label + "' " + *wrong);
  }
  request.submitter = words.submitter.empty() ? default_submitter() : words.submitter;
  if (const auto wrong = name_error(request.submitter))
    return bad_input("--submitter '" + request.submitter + "' " + *wrong);
  request.options.priority = *priority;
  request.options.not_before_ms = *not_before;
  request.options.deadline_ms = *deadline;
  if (!words.labels.empty()) request.options.labels = words.labels;
  return {};
}

std::optional<std::filesystem::path> optional_path(const std::string& word) {
  return word.empty() ? std::nullopt : std::optional<std::filesystem::path>(word);
}

// The files that a pattern means, which a shell did not look up because it stood in quotes.
std::vector<std::string> matching(const std::string& pattern) {
  std::error_code ignored;
  if (pattern.find_first_of("*?[") == std::string::npos || std::filesystem::exists(pattern, ignored)) return {pattern};
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

// Gives back the words that are KernelBench's options.
Expected<std::vector<std::string>> judge_inputs(const Words& words, SubmitCommandLine& line) {
  std::vector<std::string> options;
  for (const std::string& input : words.inputs) {
    if (input.empty()) return bad_input("a PATH is empty");
    if (input == "-") {
      if (words.inputs.size() > 1) return bad_input("- is standard input and stands alone");
      line.reads_stdin = true;
    }
    if (is_kernelbench_word(input)) {
      options.push_back(input);
      continue;
    }
    const std::vector<std::string> paths = matching(input);
    if (paths.empty()) return bad_input("nothing matches '" + input + "'");
    line.request.inputs.insert(line.request.inputs.end(), paths.begin(), paths.end());
  }
  return options;
}

Expected<void> judge_progress(const std::string& word, SubmitCommandLine& line) {
  if (word == "auto") return {};
  if (word != "json" && word != "none") return bad_input("--progress must be auto, json or none, got '" + word + "'");
  line.progress = word == "json" ? ProgressStyle::json : ProgressStyle::none;
  return {};
}

Expected<void> judge(const Words& words, SubmitCommandLine& line) {
  const auto backend = parse_word<Backend>("--backend", words.backend);
  const auto device = parse_word<DeviceWish>("--device", words.device);
  const auto precision = parse_word<Precision>("--precision", words.precision);
  const auto baseline = parse_word<Baseline>("--baseline", words.baseline);
  const auto profile = parse_word<Profiler>("--profile", words.profile);
  if (!backend) return failure(backend.error());
  if (!device) return failure(device.error());
  if (!precision) return failure(precision.error());
  if (!baseline) return failure(baseline.error());
  if (!profile) return failure(profile.error());
  KQ_TRY(net::parse_broker_url(words.broker));
  if (words.repeat < 1 || words.repeat > kRepeatMax) {
    return bad_input("--repeat must be from 1 to " + std::to_string(kRepeatMax) + ", got " +
                     std::to_string(words.repeat));
  }
  KQ_TRY_VALUE(const auto kernelbench_words, judge_inputs(words, line));
  line.request.options.problem = optional_path(words.problem);
  line.request.options.problems = optional_path(words.problems);
  line.request.options.backend = *backend;
  line.request.options.device = *device;
  line.request.options.precision = *precision;
  line.request.options.baseline = *baseline;
  line.request.options.profile = *profile;
  if (!words.gpu.empty()) line.request.options.gpu_model = words.gpu;
  line.request.input_format = words.input_format;
  line.request.run = words.run;
  KQ_TRY_VALUE(auto passed_over, apply_kernelbench_words(kernelbench_words, line.request));
  line.notes = std::move(passed_over);
  if (line.request.inputs.empty() && line.spool.empty()) return bad_input("PATH is required; see kq-submit --help");
  if (line.request.inputs.empty() && line.dry_run)
    return bad_input("--dry-run lists what a PATH holds, and there is none");
  if (const auto progress = judge_progress(words.progress, line); !progress) return progress;
  line.request.repeat = words.repeat;
  line.broker = words.broker;
  return judge_turn(words, line.request);
}

}  // namespace

std::variant<SubmitCommandLine, EarlyEnd> parse_submit_command_line(int argc, const char* const* argv) {
  SubmitCommandLine line;
  Words words;
  CLI::App app(
      "kq-submit validates kernels, sends them to a broker as jobs of one run, and can wait for their verdicts.",
      "kq-submit");
  app.footer(kFooter);
  app.add_option("PATH", words.inputs, "what to submit");
  app.add_option("--input-format", words.input_format,
                 "read every PATH as this: jsonl, kernelbench_run, kernelbench_problems, kernels or single_file; else "
                 "told by looking");
  app.add_flag("--resume", line.request.options.subset.resume,
               "leave out samples that a KernelBench run's eval_results.json has");
  app.add_option(
      "--spool", line.spool,
      "while no broker answers keep the jobs in this folder; what it holds is sent first, also without a PATH");
  app.add_option("--problem", words.problem, "the problem of single files: its path, or its name in --problems");
  app.add_option("--problems", words.problems,
                 "where to look problems up: a directory such as a KernelBench checkout, or a .jsonl of its data set");
  app.add_option("--backend", words.backend, "torch, triton, cuda, torch_cuda or multi_kernel; else told by each file");
  app.add_option("--device", words.device, "any, cpu or cuda");
  app.add_option("--gpu", words.gpu, "only this GPU model, as workers name it");
  app.add_option("--precision", words.precision, "cast floating-point inputs to: as_given, fp32, fp16 or bf16");
  app.add_option("--baseline", words.baseline,
                 "time the problem's reference as it is (eager) or under torch.compile (compile)");
  app.add_option("--profile", words.profile,
                 "after it has passed, look at its kernels under a profiler: ncu (NVIDIA's Nsight Compute), or none");
  app.add_option("--priority", words.priority, "low, normal or high: who goes first; waiting counts as well");
  app.add_option("--not-before", words.not_before, "run no earlier than this: 2026-11-21T18:00Z, or +30m from now");
  app.add_option("--deadline", words.deadline, "what has not begun by then ends as expired; written as --not-before");
  app.add_option("--require", words.labels, "only on workers with this label; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--submitter", words.submitter, "whose share and quota the jobs count against; else USER@HOST")
      ->envname("KQ_SUBMITTER");
  app.add_option("--run", words.run, "name of the run; else the first PATH's");
  app.add_option("--broker", words.broker, "URL of the broker")->envname("KQ_BROKER")->capture_default_str();
  app.add_option("--key", line.key, "your key file, where the broker wants one")->envname("KQ_KEY");
  app.add_flag("--wait", line.wait, "wait for the verdicts; the exit code tells them");
  app.add_option("--time-limit", words.time_limit_s,
                 "seconds that each job's build and its run may take; lowers what the worker allows");
  CLI::Option* timeout =
      app.add_option("--timeout", words.timeout_s,
                     "stop waiting, for a broker, for room in a full queue or for verdicts, after so many seconds");
  app.add_flag("--force-rerun", line.force_rerun, "run again what is already judged");
  app.add_option("--repeat", words.repeat, "submit each kernel so many times, as LABEL, LABEL#2, ...");
  app.add_flag("--keep-going", line.keep_going,
               "send what is right although something is wrong; the exit code is still 2");
  app.add_flag("--json", line.json, "one JSON object on standard output");
  app.add_flag("--dry-run", line.dry_run, "validate and list, send nothing; needs no broker");
  app.add_flag("--exit-zero", line.exit_zero, "exit 0 also when a kernel did not pass");
  app.add_option("--progress", words.progress, "on standard error: auto, json (an object per line) or none");
  app.add_flag("-q,--quiet", line.quiet, "no counts and no progress, errors only");
  app.set_version_flag("--version", "kq-submit " + std::string(kVersion));
  // CLI11's own exit codes are 100 and more; every mistake here is 2.
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return EarlyEnd{ExitCode::ok, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return EarlyEnd{ExitCode::ok, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return EarlyEnd{ExitCode::bad_input, std::string(error.what()) + "; see kq-submit --help"};
  }
  // A variable of a script that is not set: without a --gpu, say, it would run on any.
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (option->get_positional() || std::find(values.begin(), values.end(), "") == values.end()) continue;
    return EarlyEnd{ExitCode::bad_input, option->get_name() + " is empty; leave it out, or say which"};
  }
  if (timeout->count() > 0) {
    // Written so that NaN is refused too.
    if (!(words.timeout_s > 0 && words.timeout_s <= kTimeoutSecondsMax)) {
      return EarlyEnd{ExitCode::bad_input, "--timeout must be a number of seconds above 0, at most 30 days"};
    }
    line.timeout_ms = static_cast<std::int64_t>(std::ceil(words.timeout_s * 1000));
  }
  if (const auto judged = judge(words, line); !judged) return EarlyEnd{ExitCode::bad_input, judged.error().message};
  return line;
}

}  // namespace kq::producer
