#include "tools/report/jobs/measure_again.h"

#include "producer/client/json.h"
#include "producer/client/sentences.h"

namespace kq::tools {
namespace {

using producer::shell_quoted;

std::string number(double value) {
  std::string text;
  producer::append_json(value, text);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string truth_options(const TruthRule& truth) {
  std::string words;
  if (!truth.is_used) words += " --no-truth";
  if (truth.rms != kTruthRms) words += " --truth-rms " + number(truth.rms);
  if (truth.max != kTruthMax) words += " --truth-max " + number(truth.max);
  if (truth.allowed != AllowedPrecision::none) words += " --allow-precision " + std::string(to_string(truth.allowed));
  return words;
}

std::string problem_options(const Problem& problem) {
  std::string words = " --problem " + shell_quoted(problem.file.empty() ? problem.name : problem.file);
  if (problem.precision != Precision::as_given) words += " --precision " + std::string(to_string(problem.precision));
  if (problem.rtol) words += " --rtol " + number(*problem.rtol);
  if (problem.atol) words += " --atol " + number(*problem.atol);
  if (!runs_all_workloads(problem)) {
    std::string names;
    for (const Workload& workload : problem.workloads) names += (names.empty() ? "" : ",") + workload.name;
    words += " --workloads " + shell_quoted(names);
  }
  return words;
}

}  // namespace

std::string measure_again_command(const Submission& submission, const std::string& run) {
  std::string words = "kq submit " + (submission.files.empty() ? "" : shell_quoted(submission.files.front().name));
  words += problem_options(submission.problem) + " --backend " + std::string(to_string(submission.backend));
  if (submission.device != DeviceWish::any) words += " --device " + std::string(to_string(submission.device));
  if (!submission.gpu_model.empty()) words += " --gpu " + shell_quoted(submission.gpu_model);
  if (submission.trials.baseline != Baseline::eager)
    words += " --baseline " + std::string(to_string(submission.trials.baseline));
  if (submission.trials.need_extensions) words += " --need-extensions";
  words += truth_options(submission.truth);
  if (submission.time_limit_ms > 0) words += " --time-limit " + number(submission.time_limit_ms / 1e3);
  for (const std::string& label : submission.labels) words += " --require " + shell_quoted(label);
  return words + " --run " + shell_quoted(run + "-again") + " --force-rerun --wait";
}

}  // namespace kq::tools
