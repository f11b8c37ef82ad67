#include "gpu_worker/lane/eval_program.h"

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/limits.h"
#include "core/plan.h"
#include "gpu_worker/compile/outcome.h"
#include "gpu_worker/machine/scratch.h"
#include "gpu_worker/zygote/zygote.h"
#include "sys/printable.h"

namespace kq::worker {
namespace {

using nlohmann::json;

constexpr std::size_t kReportBytesMax = 4u << 20;
constexpr double kNsMax = 1e15;  // eleven days
constexpr std::uint32_t kRunsMax = 1'000'000;

double number_at(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::clamp(value, 0.0, kNsMax) : 0;
}

std::string text_at(const json& object, const char* name, std::size_t bytes_max) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? sys::printable(found->get<std::string>(), bytes_max)
                                                     : std::string();
}

bool is_true_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

Verdict ended_with(VerdictName name, std::string reason, std::string_view message) {
  return ended(name, {.stage = name == VerdictName::build_failed ? Stage::build : Stage::run,
                      .reason = std::move(reason),
                      .message = shortened(message),
                      .hint = {},
                      .rule = {},
                      .place = {},
                      .mismatch = {}});
}

Statistics statistics_of(const json& one) {
  return {.sample_count = static_cast<std::uint32_t>(std::min(number_at(one, "runs"), double{kRunsMax})),
          .median_ns = number_at(one, "mean"),
          .mean_ns = number_at(one, "mean"),
          .std_ns = number_at(one, "std"),
          .min_ns = number_at(one, "best"),
          .max_ns = number_at(one, "worst")};
}

// `noise_ns` is the noise of the median; 0: unknown.
Passed passed_with(const Statistics& times, std::uint32_t trials, double noise_ns = 0) {
  return {
      .measurement = {.method = std::string(kSelfReported), .submission = times, .reference = {}, .noise_ns = noise_ns},
      .correctness = {.trials_passed = trials}};
}

// Returns the noise of a case's time. Few calls tell none, and then only the machine's remains.
double noise_of_case(const Statistics& times, DeviceKind device) {
  const double told_ns = submission_noise_ns(passed_with(times, 1).measurement);
  const double least_ns = (device == DeviceKind::cpu ? kProcessNoiseShare : kNoiseShareMin) * times.median_ns;
  return std::isfinite(told_ns) ? std::max(told_ns, least_ns) : least_ns;
}

CaseResult case_of(const json& one, DeviceKind device) {
  const bool is_timed = is_true_at(one, "timed");
  CaseResult made{.workload = text_at(one, "name", kNameBytesMax),
                  .weight = is_timed ? 1.0 : 0.0,
                  .verdict = passed_with({}, 1),
                  .samples = {}};
  if (is_timed) {
    const Statistics times = statistics_of(one);
    made.verdict = passed_with(times, 1, noise_of_case(times, device));
  }
  if (!is_true_at(one, "passed"))
    made.verdict = ended_with(VerdictName::wrong_answer, "value", text_at(one, "message", kMessageTextMax));
  return made;
}

// Returns the verdict of a passed run. Its time is the score of the problem's ranking; the programs know no reference
// time.
Verdict passed_verdict(const json& report, const std::vector<CaseResult>& cases) {
  Statistics times;
  times.median_ns = times.mean_ns = number_at(report, "score_ns");
  double noise_share = 0;
  for (const CaseResult& one : cases) {
    const Measurement& measured = *measurement_of(one.verdict);
    times.sample_count += measured.submission.sample_count;
    if (measured.submission.median_ns > 0)
      noise_share = std::max(noise_share, measured.noise_ns / measured.submission.median_ns);
  }
  return passed_with(times, static_cast<std::uint32_t>(cases.size()), noise_share * times.median_ns);
}

bool has_passed(const CaseResult& one) {
  return measurement_of(one.verdict) != nullptr;
}

// Returns whether a message is what torch, CUDA or a driver say where there is no GPU.
bool tells_of_no_gpu(std::string_view message) {
  constexpr std::string_view kSaid[] = {"Found no NVIDIA driver",
                                        "No CUDA GPUs are available",
                                        "not compiled with CUDA",
                                        "cudaErrorInsufficientDriver",
                                        "cudaErrorNoDevice",
                                        "no CUDA-capable device is detected",
                                        "CUDA driver version is insufficient"};
  return std::ranges::any_of(kSaid, [&](std::string_view one) { return message.find(one) != std::string_view::npos; });
}

// Returns the verdict of a child that left no report.
Verdict verdict_of_death(int wait_status) {
  if ((wait_status & kKilledForMemory) != 0)
    return ended_with(VerdictName::out_of_memory, "host", "the program took more memory than it may");
  if (WIFSIGNALED(wait_status))
    return ended_with(VerdictName::crashed, "signal " + std::to_string(WTERMSIG(wait_status)),
                      "the process that runs the program died of a signal");
  return ended_with(VerdictName::runtime_error, {},
                    "the process that runs the program ended without a report: exit code " +
                        std::to_string(WEXITSTATUS(wait_status)));
}

}  // namespace

EvalMode eval_mode(const Submission& submission) {
  const auto all_start_with = [&](std::string_view prefix) {
    return std::ranges::all_of(submission.problem.workloads,
                               [&](const Workload& one) { return one.name.starts_with(prefix); });
  };
  if (all_start_with("test.")) return EvalMode::test;
  if (!all_start_with("benchmark.")) return EvalMode::leaderboard;
  return submission.trials.profile == Profiler::none ? EvalMode::benchmark : EvalMode::profile;
}

std::string eval_assignment(const Submission& submission, const std::string& problem_file) {
  return json{
      {"entry", submission.files.front().name}, {"problem", problem_file}, {"mode", to_string(eval_mode(submission))}}
      .dump();
}

EvalReport eval_report(const std::string& out, int wait_status, DeviceKind device) {
  const auto text = read_child_file(out + "/result.json", kReportBytesMax);
  const json report = json::parse(text ? *text : std::string(), nullptr, false);
  if (!report.is_object()) return {.verdict = verdict_of_death(wait_status)};
  EvalReport made;
  if (const auto cases = report.find("cases"); cases != report.end() && cases->is_array()) {
    for (const json& one : *cases) {
      if (made.cases.size() < kWorkloadsMax && one.is_object()) made.cases.push_back(case_of(one, device));
    }
  }
  const auto name = parse_enum<VerdictName>(text_at(report, "verdict", kNameBytesMax));
  const bool is_user_fault = name && row_of(*name).fault == Fault::user;
  if (name == VerdictName::passed && !made.cases.empty() && std::ranges::all_of(made.cases, has_passed)) {
    made.verdict = passed_verdict(report, made.cases);
  } else if (is_user_fault || name == VerdictName::problem_invalid) {
    const std::string message = text_at(report, "message", kMessageTextMax);
    const bool lacks_gpu = device == DeviceKind::cpu && tells_of_no_gpu(message);
    made.verdict = lacks_gpu ? ended_with(VerdictName::unsupported_here, {},
                                          "the problem's program asks for a GPU, which this worker lacks: " + message)
                             : ended_with(*name, text_at(report, "stage", kNameBytesMax), message);
  } else {
    made.verdict = ended_with(VerdictName::runtime_error, {}, "the report of the program's run is no valid one");
  }
  return made;
}

EvalReport eval_timed_out(const std::string& limit) {
  return {.verdict = ended_with(VerdictName::timed_out, "run", "all runs of the program took longer than " + limit)};
}

EvalReport eval_overflowed() {
  return {.verdict = ended_with(VerdictName::runtime_error, "output",
                                "the run wrote more files, or more bytes, into its output folder than it may")};
}

}  // namespace kq::worker
