#include "tools/kernelbench/outcome.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "producer/formats/sample_name.h"

namespace kq::tools {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<std::uint32_t> number_tag(const Submission& submission, const std::string& name) {
  const auto tag = submission.tags.find(name);
  return tag != submission.tags.end() ? number(tag->second) : std::nullopt;
}

// Parses a problem name such as "level1/19_ReLU", with any path before level1.
std::optional<KernelBenchId> id_of_problem(std::string_view name) {
  const std::size_t file = name.rfind('/');
  if (file == std::string_view::npos) return std::nullopt;
  std::string_view level = name.substr(0, file);
  level.remove_prefix(level.rfind('/') + 1);
  const std::string_view file_name = name.substr(file + 1);
  if (!level.starts_with("level") || file_name.find('_') == std::string_view::npos) return std::nullopt;
  const auto level_number = number(level.substr(5));
  const auto problem_number = number(file_name.substr(0, file_name.find('_')));
  if (!level_number || !problem_number) return std::nullopt;
  return KernelBenchId{.level = *level_number, .problem = *problem_number, .sample = std::nullopt};
}

// Returns the exception at the start of a message such as "RuntimeError: no such thing", else the verdict.
std::string error_name(const Evidence& evidence, std::string_view verdict) {
  const std::string_view first = std::string_view(evidence.message).substr(0, evidence.message.find_first_of(":\n ("));
  const bool is_name = first.ends_with("Error") || first.ends_with("Exception");
  return std::string(is_name ? first : verdict);
}

// The metadata keys of a verdict: `key` gets the message, `name_key` the name of the exception unless it is null.
struct MetadataKeys {
  VerdictName verdict;
  const char* key;
  const char* name_key;
};
constexpr MetadataKeys kMetadataKeys[] = {
    {VerdictName::suspect, "other_error", "other_error_name"},
    {VerdictName::wrong_answer, "correctness_issue", "correctness_issue_name"},
    {VerdictName::build_failed, "compilation_error", "compilation_error_name"},
    {VerdictName::load_failed, "compilation_error", "compilation_error_name"},
    {VerdictName::runtime_error, "runtime_error", "runtime_error_name"},
    {VerdictName::crashed, "runtime_error", "runtime_error_name"},
    {VerdictName::gpu_fault, "cuda_error", "cuda_error_name"},
    {VerdictName::out_of_memory, "runtime_error", "runtime_error_name"},
    {VerdictName::timed_out, "error", nullptr},
    {VerdictName::rejected, "error", nullptr},
};

// python/kq/kernelbench.py has the same text.
constexpr std::string_view kByTruth =
    "outputs differ from the reference by more than the tolerance; kq passed them by the truth";

std::string message_of(VerdictName verdict, const Evidence& evidence) {
  std::string message = evidence.message;
  if (verdict == VerdictName::timed_out) message = "Evaluation timed out" + (message.empty() ? "" : ": " + message);
  if (verdict == VerdictName::rejected) {
    message = "rejected" + (evidence.rule.empty() ? "" : " (" + evidence.rule + ")") +
              (evidence.place.empty() ? "" : " at " + evidence.place) + ": " + message;
  }
  return message.empty() ? std::string(to_string(verdict)) : message;
}

void add_evidence(VerdictName verdict, const Evidence& evidence, producer::JsonObject& metadata) {
  for (const MetadataKeys& words : kMetadataKeys) {
    if (words.verdict != verdict) continue;
    metadata.emplace_back(words.key, producer::Json{message_of(verdict, evidence)});
    if (words.name_key != nullptr)
      metadata.emplace_back(words.name_key, producer::Json{error_name(evidence, to_string(verdict))});
  }
  if (evidence.mismatch && evidence.mismatch->expected_form.empty()) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6f", evidence.mismatch->max_abs_err);
    metadata.emplace_back("max_difference", producer::Json{producer::JsonArray{producer::Json{std::string(text)}}});
  }
}

bool is_compiled(VerdictName verdict, const Evidence* evidence, bool strict) {
  if (strict && (verdict == VerdictName::gpu_fault || verdict == VerdictName::timed_out)) return false;
  if (verdict == VerdictName::build_failed || verdict == VerdictName::load_failed) return false;
  const Stage stage = evidence != nullptr ? evidence->stage : Stage::none;
  return stage != Stage::guard && stage != Stage::build && stage != Stage::queue;
}

}  // namespace

std::optional<KernelBenchId> kernelbench_id(const Submission& submission) {
  const auto level = number_tag(submission, "level");
  const auto problem = number_tag(submission, "problem_id");
  const auto sample = number_tag(submission, "sample_id");
  if (level && problem) return KernelBenchId{*level, *problem, sample};
  // The label of a single file may be the name of the file without ".py", also with "_kernel" at its end.
  for (const char* ending : {"_kernel.py", ".py"}) {
    if (const auto name = producer::parse_sample_name(submission.label + ending))
      return KernelBenchId{name->level, name->problem, name->sample};
  }
  auto id = id_of_problem(submission.problem.name);
  if (id) id->sample = sample;
  return id;
}

bool is_kernelbench_result(const RunRow& row) {
  if (!row.result) return false;
  const VerdictName verdict = name_of(row.result->verdict);
  const Fault fault = fault_of(row.result->verdict);
  const bool is_of_the_kernel = fault != Fault::problem && fault != Fault::nobody && fault != Fault::ours;
  return is_of_the_kernel && verdict != VerdictName::cancelled && verdict != VerdictName::compiled_only;
}

KernelBenchOutcome kernelbench_outcome(const RunRow& row, bool strict) {
  const Result& result = *row.result;
  const VerdictName verdict = name_of(result.verdict);
  const Evidence* evidence = evidence_of(result.verdict);
  const Correctness* const right = correctness_of(result.verdict);
  // KernelBench calls an output right where it is within the tolerance of the reference, whatever the truth is.
  const bool is_by_truth = right != nullptr && right->truth;
  KernelBenchOutcome outcome{.compiled = is_compiled(verdict, evidence, strict),
                             .correct = verdict == VerdictName::passed && !is_by_truth};
  producer::JsonObject metadata{{"hardware", producer::Json{result.device.model}},
                                {"device", producer::Json{std::string(to_string(result.device.kind))}}};
  if (right != nullptr) {
    const std::string n = std::to_string(right->trials_passed);
    metadata.emplace_back("correctness_trials", producer::Json{"(" + n + " / " + n + ")"});
  }
  if (is_by_truth) metadata.emplace_back("correctness_issue", producer::Json{std::string(kByTruth)});
  if (evidence != nullptr) add_evidence(verdict, *evidence, metadata);
  metadata.emplace_back("kq_verdict", producer::Json{std::string(to_string(verdict))});
  metadata.emplace_back("kq_job_id", producer::Json{static_cast<std::int64_t>(row.job.seq)});
  outcome.metadata = producer::Json{std::move(metadata)};
  const Measurement* measured = measurement_of(result.verdict);
  if (outcome.correct && measured != nullptr && measured->submission.sample_count > 0) {
    outcome.runtime_ms = measured->submission.mean_ns / 1e6;
    outcome.runtime_stats = kernelbench_stats(measured->submission, result.device);
  }
  return outcome;
}

producer::Json kernelbench_stats(const Statistics& statistics, const DeviceInfo& device) {
  const double n = statistics.sample_count;
  const double population_std = n > 0 ? statistics.std_ns * std::sqrt((n - 1) / n) : 0;
  return producer::Json{
      producer::JsonObject{{"mean", producer::Json{statistics.mean_ns / 1e6}},
                           {"std", producer::Json{population_std / 1e6}},
                           {"min", producer::Json{statistics.min_ns / 1e6}},
                           {"max", producer::Json{statistics.max_ns / 1e6}},
                           {"num_trials", producer::Json{static_cast<std::int64_t>(statistics.sample_count)}},
                           {"hardware", producer::Json{device.model}},
                           {"device", producer::Json{std::string(to_string(device.kind))}}}};
}

}  // namespace kq::tools
