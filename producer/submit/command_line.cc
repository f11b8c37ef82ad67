#include "producer/submit/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/version.h"
#include "net/endpoint.h"
#include "producer/client/submitter.h"
#include "producer/client/when.h"
#include "producer/formats/formats.h"
#include "producer/formats/settings.h"
#include "producer/submit/judge_options.h"
#include "producer/submit/kernelbench_options.h"
#include "producer/submit/naming_options.h"
#include "sys/clock.h"
#include "sys/command_line.h"

namespace kq::producer {
namespace {

constexpr double kTimeoutSecondsMax = 30.0 * 24 * 3600;

constexpr const char* kFooter = R"(
A PATH is one of: a .jsonl file, or a directory with a submissions.jsonl; a KernelBench run, which is a directory with
files named level_L_problem_P_sample_S_kernel.py; a KernelBench checkout or level folder, whose references are submitted
against themselves; a folder of BackendBench's kernels; a trace set of flashinfer-bench or a problem's folder of
SOL-ExecBench; a .py, .cu, .ptx or .cubin file, or a directory of them, with --problem FILE or a comment
kq: problem=FILE. X.cu needs its arguments in X.json in the same directory. A pattern in quotes ('k/*.py') stands for
the files that match it. - is standard input, which has JSON Lines or one kernel. Arguments like level=1 are options of
KernelBench's scripts.

Exit codes: 0 done (with --wait: every kernel passed), 1 a kernel did not pass, 2 bad input and nothing was sent,
3 no broker (with --wait, also where --spool keeps the jobs), or jobs were abandoned because of failures of kq,
4 --timeout is over, 5 there was nothing to send, 130 interrupted, 143 terminated.

Examples:
  kq-submit examples/sweep --wait
  kq-submit add.py --problem problems/add.py --device cpu --wait
  kq-submit runs/mine --problems KernelBench --gpu "NVIDIA H200" --run mine)";

// The options as texts, before they are validated.
struct RawOptions {
  std::vector<std::string> inputs;
  std::string problem, problems, backend, device, gpu, run;
  std::string broker;
  std::string priority, not_before, deadline, submitter, input_format;
  std::string progress = "auto";
  std::vector<std::string> labels;
  std::string time_limit_s;
  double timeout_s = 0;
  std::uint32_t repeat = 1;
  JudgeOptionTexts judging;
  NamingTexts naming;
};

template <NamedEnum E>
Expected<std::optional<E>> parse_enum_option(const char* flag, const std::string& text) {
  if (text.empty()) return std::optional<E>{};
  if (const auto value = parse_enum<E>(text)) return value;
  return bad_input(std::string(flag) + " must be one of " + known_names<E>() + ", got '" + text + "'");
}

Expected<std::optional<std::int64_t>> parse_time(const char* flag, const std::string& text, std::int64_t now_ms) {
  if (text.empty()) return std::optional<std::int64_t>{};
  const auto when = parse_when(text, now_ms);
  if (!when) return bad_input(std::string(flag) + " " + when.error().message);
  return std::optional(*when);
}

// Applies priority, times, labels and the submitter.
Expected<void> apply_queue_options(const RawOptions& raw, SubmitRequest& request) {
  request.options.now_ms = sys::unix_now_ms();
  const auto priority = parse_enum_option<Priority>("--priority", raw.priority);
  const auto not_before = parse_time("--not-before", raw.not_before, request.options.now_ms);
  const auto deadline = parse_time("--deadline", raw.deadline, request.options.now_ms);
  if (!priority) return failure(priority.error());
  if (!not_before) return failure(not_before.error());
  if (!deadline) return failure(deadline.error());
  if (*deadline && **deadline <= request.options.now_ms) {
    return bad_input("--deadline is over already, got '" + raw.deadline + "'");
  }
  if (!raw.time_limit_s.empty()) {
    const auto limit = parse_limit(raw.time_limit_s);
    if (!limit) return bad_input("--time-limit " + limit.error().message);
    request.options.time_limit_ms = *limit;
  }
  for (const std::string& label : raw.labels) {
    if (const auto wrong = name_error(label)) return bad_input("--require '" + label + "' " + *wrong);
  }
  request.submitter = raw.submitter.empty() ? default_submitter() : raw.submitter;
  if (const auto wrong = name_error(request.submitter))
    return bad_input("--submitter '" + request.submitter + "' " + *wrong);
  request.options.priority = *priority;
  request.options.not_before_ms = *not_before;
  request.options.deadline_ms = *deadline;
  if (!raw.labels.empty()) request.options.labels = raw.labels;
  return {};
}

std::optional<std::filesystem::path> optional_path(const std::string& word) {
  return word.empty() ? std::nullopt : std::optional<std::filesystem::path>(word);
}

// Applies the inputs, and returns those arguments that are options of KernelBench's scripts.
Expected<std::vector<std::string>> apply_inputs(const RawOptions& raw, SubmitCommandLine& line) {
  std::vector<std::string> options;
  for (const std::string& input : raw.inputs) {
    if (input.empty()) return bad_input("a PATH is empty");
    if (input == "-") {
      if (raw.inputs.size() > 1) return bad_input("- is standard input and stands alone");
      line.reads_stdin = true;
    }
    if (is_kernelbench_option(input)) {
      options.push_back(input);
      continue;
    }
    KQ_TRY_VALUE(const auto paths, expanded_input(input));
    line.request.inputs.insert(line.request.inputs.end(), paths.begin(), paths.end());
  }
  return options;
}

Expected<void> apply_progress(const std::string& word, SubmitCommandLine& line) {
  if (word == "auto") return {};
  if (word != "json" && word != "none") return bad_input("--progress must be auto, json or none, got '" + word + "'");
  line.progress = word == "json" ? ProgressStyle::json : ProgressStyle::none;
  return {};
}

Expected<void> apply_options(const RawOptions& raw, SubmitCommandLine& line) {
  const auto backend = parse_enum_option<Backend>("--backend", raw.backend);
  const auto device = parse_enum_option<DeviceWish>("--device", raw.device);
  if (!backend) return failure(backend.error());
  if (!device) return failure(device.error());
  if (!raw.broker.empty()) KQ_TRY(net::parse_broker_urls(raw.broker));
  if (raw.repeat < 1 || raw.repeat > kRepeatMax) {
    return bad_input("--repeat must be from 1 to " + std::to_string(kRepeatMax) + ", got " +
                     std::to_string(raw.repeat));
  }
  KQ_TRY_VALUE(const auto kernelbench_options, apply_inputs(raw, line));
  line.request.options.problem = optional_path(raw.problem);
  line.request.options.problems = optional_path(raw.problems);
  line.request.options.backend = *backend;
  line.request.options.device = *device;
  KQ_TRY(raw.judging.apply(line.request.options));
  KQ_TRY(raw.naming.apply(line.request.options));
  if (!raw.gpu.empty()) line.request.options.gpu_model = raw.gpu;
  line.request.input_format = raw.input_format;
  line.request.run = raw.run;
  KQ_TRY_VALUE(auto ignored_options, apply_kernelbench_options(kernelbench_options, line.request));
  line.notes = std::move(ignored_options);
  if (line.request.inputs.empty() && line.spool.empty()) {
    return bad_input(kernelbench_options.empty()
                         ? "PATH is required; see kq-submit --help"
                         : "PATH is required, or run_name=NAME or kernel_src_path=FILE of KernelBench's scripts");
  }
  if (line.request.inputs.empty() && line.dry_run)
    return bad_input("--dry-run lists what a PATH holds, and there is none");
  if (const auto progress = apply_progress(raw.progress, line); !progress) return progress;
  line.request.repeat = raw.repeat;
  line.broker = raw.broker;
  return apply_queue_options(raw, line.request);
}

// Returns the names of the input formats, as --help lists values.
std::string format_names() {
  std::string names;
  for (const Format& format : formats()) names += (names.empty() ? "" : "|") + std::string(format.name);
  return names;
}

// Returns the names of the backends that kq's judge measures, as --help lists values.
std::string backend_names() {
  std::string names;
  for (const std::string_view name : kEnumNames<Backend>) {
    if (name != to_string(Backend::eval_program)) names += (names.empty() ? "" : "|") + std::string(name);
  }
  return names;
}

void add_input_options(CLI::App& app, RawOptions& raw, SubmitCommandLine& line) {
  app.option_defaults()->group("What is submitted");
  app.add_option("PATH", raw.inputs, "an input to submit; see below")->type_name("");
  app.add_option("--run", raw.run, "name of the run (default: the name of the first PATH, with a key KEY/NAME)")
      ->type_name("NAME");
  app.add_option("--share", line.share, "let this key add rows to the run and read its sources; may be repeated")
      ->type_name("KEY")
      ->allow_extra_args(false);
  app.add_option("--problem", raw.problem, "the problem of single files: its path, or its name in --problems")
      ->type_name("FILE");
  app.add_option("--problems", raw.problems,
                 "where problems are found: a directory such as a KernelBench checkout, or a .jsonl of its data set")
      ->type_name("DIR");
  app.add_option("--backend", raw.backend, "what the kernels are written in; without it recognised by each file")
      ->type_name(backend_names());
  app.add_option("--input-format", raw.input_format, "the format of every PATH; without it each PATH is recognised")
      ->type_name(format_names());
  app.add_option("--author", raw.naming.author, kAuthorHelp)->type_name("NAME");
  app.add_option("--tag", raw.naming.tags, kTagHelp)->type_name("NAME=VALUE")->allow_extra_args(false);
  app.add_flag("--resume", line.request.options.subset.resume,
               "leave out samples that a KernelBench run's eval_results.json has");
  app.add_option("--repeat", raw.repeat, "submit each kernel this many times, as LABEL, LABEL#2, ...");
  app.add_flag("--force-rerun", line.force_rerun, "run jobs again that already have a verdict");
  app.add_flag("--keep-going", line.keep_going,
               "send the valid kernels although others are invalid; the exit code is still 2");
  app.add_flag("--dry-run", line.dry_run, "validate and list, send nothing; needs no broker");
}

void add_judge_options(CLI::App& app, RawOptions& raw) {
  app.option_defaults()->group("How it is judged");
  for (JudgeOptionTexts::Given& given : raw.judging.all()) {
    if (given.option.value == nullptr) {
      app.add_flag(given.option.flag, given.is_set, given.option.help);
    } else {
      app.add_option(given.option.flag, given.text, given.option.help)->type_name(given.option.value);
    }
  }
}

void add_place_options(CLI::App& app, RawOptions& raw, SubmitCommandLine& line) {
  app.option_defaults()->group("Where and when it runs");
  app.add_option("--device", raw.device, "kind of device that the jobs run on")->type_name("any|cpu|cuda");
  app.add_option("--gpu", raw.gpu, "run only on this GPU model, as workers name it")->type_name("MODEL");
  app.add_option("--require", raw.labels, "run only on workers with this label; may be repeated")
      ->type_name("LABEL")
      ->allow_extra_args(false);
  app.add_option("--priority", raw.priority, "which jobs run first; jobs that wait longer rise")
      ->type_name("low|normal|high");
  app.add_option("--not-before", raw.not_before, "run no earlier than this: 2026-11-21T18:00Z, or +30m from now")
      ->type_name("WHEN");
  app.add_option("--deadline", raw.deadline,
                 "jobs that have not started by then end as expired; written as for --not-before")
      ->type_name("WHEN");
  app.add_option("--time-limit", raw.time_limit_s,
                 "seconds that each job's build and its run may take; lowers what the worker allows")
      ->type_name("S");
  app.option_defaults()->group("Broker");
  app.add_option("--broker", raw.broker,
                 "URL of the broker (default: that of a running kq up or kq sweep, else " +
                     std::string(net::kDefaultBrokerUrl) + ")")
      ->type_name("URL")
      ->envname("KQ_BROKER");
  app.add_option("--key", line.key, "your key file, where the broker requires a key")
      ->type_name("FILE")
      ->envname("KQ_KEY");
  app.add_option("--submitter", raw.submitter,
                 "the name whose share and quota the jobs count against (default: USER@HOST)")
      ->type_name("NAME")
      ->envname("KQ_SUBMITTER");
  app.add_option(
         "--spool", line.spool,
         "keep the jobs in this folder while no broker answers; jobs in the folder are sent first, also without a PATH")
      ->type_name("DIR");
}

// Returns what is wrong with the value of --timeout, or an empty text.
std::string timeout_error(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  // The condition also refuses NaN, for which every comparison is false.
  if (!text.empty() && *end == '\0' && value > 0 && value <= kTimeoutSecondsMax) return "";
  return "must be a number of seconds above 0, at most 30 days, got " + text;
}

void add_wait_options(CLI::App& app, RawOptions& raw, SubmitCommandLine& line) {
  app.option_defaults()->group("Waiting and output");
  app.add_flag("--wait", line.wait, "wait for the verdicts, which determine the exit code");
  app.add_option("--timeout", raw.timeout_s,
                 "stop waiting for a broker, for room in a full queue or for verdicts after this many seconds")
      ->type_name("S")
      ->check(timeout_error);
  app.add_flag("--exit-zero", line.exit_zero, "exit 0 also when a kernel did not pass");
  app.add_flag("--json", line.json, "print one JSON object on standard output");
  app.add_option("--progress", raw.progress, "progress on standard error; json is one object per line")
      ->type_name("auto|json|none");
  app.add_flag("-q,--quiet", line.quiet, "print errors only; a pipe or a file still gets the numbers of the jobs");
}

}  // namespace

std::variant<SubmitCommandLine, EarlyEnd> parse_submit_command_line(int argc, const char* const* argv) {
  SubmitCommandLine line;
  RawOptions raw;
  CLI::App app(
      "kq-submit validates kernels, sends them to a broker as jobs of one run, and can wait for their verdicts.",
      "kq-submit");
  app.footer(kFooter);
  add_input_options(app, raw, line);
  add_judge_options(app, raw);
  add_place_options(app, raw, line);
  add_wait_options(app, raw, line);
  app.set_version_flag("--version", "kq-submit " + std::string(kVersion));
  sys::prepare(app);
  // CLI11's own exit codes are 100 and more. In kq the exit code of every such mistake is 2.
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return EarlyEnd{ExitCode::ok, sys::help_text(app)};
  } catch (const CLI::CallForVersion& version) {
    return EarlyEnd{ExitCode::ok, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return EarlyEnd{ExitCode::bad_input, sys::mistake_text(app, error)};
  }
  // An empty value comes from an unset variable of a script. Without this check an empty --gpu, for example, would run
  // the jobs on any GPU.
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (option->get_positional() || std::find(values.begin(), values.end(), "") == values.end()) continue;
    return EarlyEnd{ExitCode::bad_input, option->get_name() + " is empty; leave it out, or say which", raw.run};
  }
  if (app.count("--timeout") > 0) line.timeout_ms = static_cast<std::int64_t>(std::ceil(raw.timeout_s * 1000));
  if (const auto applied = apply_options(raw, line); !applied)
    return EarlyEnd{ExitCode::bad_input, applied.error().message, raw.run};
  return line;
}

}  // namespace kq::producer
