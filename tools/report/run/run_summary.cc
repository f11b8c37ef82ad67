#include "tools/report/run/run_summary.h"

#include <algorithm>

#include "producer/client/row_text.h"
#include "producer/client/sentences.h"

namespace kq::tools {
namespace {

constexpr std::size_t kProblemWarningsShown = 20;
constexpr std::size_t kNamesShown = 5;

bool is_built(const RunRow& row) {
  if (!row.result) return false;
  const Evidence* evidence = evidence_of(row.result->verdict);
  if (evidence == nullptr) return true;
  return evidence->stage != Stage::queue && evidence->stage != Stage::guard && evidence->stage != Stage::build &&
         name_of(row.result->verdict) != VerdictName::build_failed;
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kNamesShown) return text + " and " + std::to_string(names.size() - kNamesShown) + " more";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string are(std::size_t count, std::string_view noun) {
  return producer::counted(count, noun) + (count == 1 ? " is" : " are");
}

}  // namespace

SummaryBuilder::SummaryBuilder(std::string run) : board_(run) {
  summary_.run = std::move(run);
}

void SummaryBuilder::add(const RunRow& row) {
  board_.add(row);
  Funnel& funnel = summary_.funnel;
  ++funnel.submitted;
  ++summary_.count_by_outcome[row.result ? std::string(to_string(name_of(row.result->verdict)))
                                         : producer::state_text(row.job.state)];
  std::int64_t& first = summary_.first_submitted_ms;
  if (row.job.submitted_at_ms > 0)
    first = first == 0 ? row.job.submitted_at_ms : std::min(first, row.job.submitted_at_ms);
  summary_.last_finished_ms = std::max(summary_.last_finished_ms, row.job.finished_at_ms);
  if (!row.result) {
    ++summary_.unfinished_count;
    return;
  }
  const Result& result = *row.result;
  const VerdictName verdict = name_of(result.verdict);
  const Measurement* measurement = measurement_of(result.verdict);
  funnel.built += is_built(row) ? 1 : 0;
  funnel.correct += measurement != nullptr ? 1 : 0;
  funnel.faster += verdict == VerdictName::passed && speedup(*measurement) > 1 ? 1 : 0;
  add_places(result);
  for (const ProblemWarning& warning : result.problem_warnings)
    problem_warnings_[warning.message].insert(row.entry.submission.problem.name);
  if (measurement == nullptr) return;
  ++measured_count_;
  cpu_count_ += result.device.kind == DeviceKind::cpu ? 1 : 0;
  const Statistics& times = measurement->submission;
  noisy_count_ += times.mean_ns > 0 && 100 * times.std_ns / times.mean_ns > kNoisyPct ? 1 : 0;
  self_reported_count_ += measurement->method == kSelfReported ? 1 : 0;
  fallback_count_ += result.extensions && result.extensions->fell_back ? 1 : 0;
  if (!result.conditions) return;
  throttled_count_ += !result.conditions->throttle.empty() && result.conditions->throttle != "none" ? 1 : 0;
  shared_gpu_count_ += result.conditions->foreign && !result.conditions->foreign->empty() ? 1 : 0;
}

void SummaryBuilder::add_places(const Result& result) {
  const std::pair<const char*, std::string> found[] = {{"device", result.device.model},
                                                       {"host", result.host.name},
                                                       {"driver", result.host.driver},
                                                       {"kq", result.software.kq},
                                                       {"evaluator", result.software.evaluator},
                                                       {"torch", result.software.torch},
                                                       {"triton", result.software.triton},
                                                       {"CUDA", result.software.cuda},
                                                       {"Python", result.software.python},
                                                       {"system", result.host.distro},
                                                       {"sandbox", result.sandbox}};
  for (const auto& [name, value] : found) {
    if (value.empty()) continue;
    const auto [place, is_new] = place_.try_emplace(name, summary_.places.size());
    if (is_new) summary_.places.emplace_back(name, std::set<std::string>());
    summary_.places[place->second].second.insert(value);
  }
}

std::vector<std::string> SummaryBuilder::warnings() const {
  std::vector<std::string> warnings;
  const auto several = [&](const char* name) {
    const auto place = place_.find(name);
    return place != place_.end() && summary_.places[place->second].second.size() > 1;
  };
  if (summary_.unfinished_count > 0)
    warnings.push_back(are(summary_.unfinished_count, "job") + " not finished; the figures are those of the others.");
  if (cpu_count_ > 0)
    warnings.push_back(producer::counted(cpu_count_, "time") + (cpu_count_ == 1 ? " was" : " were") +
                       " measured on a CPU. Such times are for trying things out.");
  if (noisy_count_ > 0)
    warnings.push_back(std::to_string(noisy_count_) + " of " + producer::counted(measured_count_, "time") +
                       " spread by more than 20 % of their mean; the machine was busy, or the kernel's time varies.");
  if (throttled_count_ > 0)
    warnings.push_back("The GPU had reduced its clocks after " + producer::counted(throttled_count_, "job") + ".");
  if (shared_gpu_count_ > 0)
    warnings.push_back("Other processes used the GPU during " + producer::counted(shared_gpu_count_, "job") + ".");
  if (self_reported_count_ > 0)
    warnings.push_back(are(self_reported_count_, "time") + " self-reported: the problem's own program measured it.");
  if (fallback_count_ > 0)
    warnings.push_back(are(fallback_count_, "time") +
                       " of a fallback: an extension does not compile, and the submission runs without it.");
  if (several("device")) warnings.push_back("The run has several device models; compare times of one model only.");
  if (several("evaluator") || several("torch") || several("driver"))
    warnings.push_back("The workers differ in their software; see the table of versions.");
  std::size_t shown = 0;
  for (const auto& [sentence, problems] : problem_warnings_) {
    if (shown++ == kProblemWarningsShown) break;
    warnings.push_back("Problem " + listed(problems) + ": " + sentence);
  }
  return warnings;
}

RunSummary SummaryBuilder::finish() {
  summary_.board = board_.finish();
  summary_.warnings = warnings();
  return std::move(summary_);
}

}  // namespace kq::tools
