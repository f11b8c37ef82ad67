#include "tools/views/job_view.h"

#include <algorithm>

#include "core/base/own_share.h"
#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/table/columns.h"
#include "tools/views/results_view.h"

namespace kq::tools {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

// Returns the lines of a text, each made printable and indented by two spaces. Tabs stay, because they may indent code.
std::string printable_lines(const std::string& text) {
  std::string result;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::size_t tabs = from;
    while (tabs < end && text[tabs] == '\t') ++tabs;
    result += "  " + text.substr(from, tabs - from) + printable(text.substr(tabs, end - tabs)) + '\n';
    from = end + 1;
  }
  return result;
}

void add(std::string& text, const std::string& name, const std::string& value) {
  if (value.empty()) return;
  text += name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + printable(value) + '\n';
}

std::string tags_text(const Submission& submission) {
  std::string text;
  for (const auto& [name, value] : submission.tags) text += (text.empty() ? "" : ", ") + name + "=" + value;
  return text;
}

std::string times_text(const Measurement& measurement) {
  if (!(measurement.submission.median_ns > 0)) return "none, because the job had no timed trials";
  const TimeTexts times = time_texts(measurement);
  return times.own + ", the reference " + times.reference + ", speedup " + times.speedup +
         " (published time of one call, from " + std::to_string(measurement.submission.sample_count) + " and " +
         std::to_string(measurement.reference.sample_count) + " samples)";
}

// Returns the versions that the worker named, or an empty text for a job that no worker had. A job that was only
// compiled has none of torch.
std::string software_text(const Software& software) {
  if (software.kq.empty()) return "";
  std::string text = "kq " + software.kq;
  if (!software.torch.empty()) text += ", torch " + software.torch;
  if (!software.triton.empty()) text += ", triton " + software.triton;
  if (!software.cuda.empty()) text += ", CUDA " + software.cuda;
  return text;
}

std::string times_lines(const Measurement& measurement) {
  std::string text;
  add(text, "times", times_text(measurement));
  if (measurement.is_noisy) text += "            " + std::string(kBusyText);
  return text;
}

std::string results_text(const ShownJob& job) {
  const Result& result = *job.row.result;
  std::string text;
  if (const Measurement* measurement = measurement_of(result.verdict); measurement != nullptr)
    text += times_lines(*measurement);
  add(text, "device", result.device.model);
  add(text, "worker", result.worker);
  add(text, "software", software_text(result.software));
  return text;
}

std::string again_text(const ShownJob& job, const std::string& place_options) {
  const std::string names =
      producer::shell_quoted(job.run) + " " + producer::shell_quoted(job.row.entry.submission.label);
  return "\nmeasure it again:\n  kq show " + names + place_options + " -o again && kq sweep again --force-rerun\n";
}

}  // namespace

bool ShownJob::has_all_files() const {
  return problem.second && std::ranges::all_of(files, [](const auto& file) { return file.second.has_value(); });
}

std::string log_text(const ShownJob& job) {
  return job.row.result ? printable_lines(job.row.result->log) : "";
}

std::string job_text(const ShownJob& job, const std::string& place_options) {
  const Submission& submission = job.row.entry.submission;
  std::string text;
  add(text, "job", std::to_string(job.row.job.seq) + ", " + submission.label + " of run " + job.run);
  add(text, "problem", submission.problem.name);
  add(text, "backend", std::string(to_string(submission.backend)));
  add(text, "baseline", std::string(to_string(submission.trials.baseline)));
  if (submission.problem.precision != Precision::as_given)
    add(text, "precision", std::string(to_string(submission.problem.precision)));
  add(text, "author", submission.author);
  add(text, "tags", tags_text(submission));
  add(text, "submitter", submitter_behind(job.row.job.submitter, job.row.job.run));
  text += "verdict     " + evidence_text(job.row);
  if (job.row.result) text += results_text(job);
  if (const std::string log = log_text(job); !log.empty()) text += "\nwhat it printed:\n" + log;
  for (const auto& [name, content] : job.files) {
    text += "\n" + printable(name) + (content ? ":\n" + printable_lines(*content) : ": not at hand\n");
  }
  if (job.has_all_files()) return text + again_text(job, place_options);
  return text + "\n" + printable(job.refusal) + "\n";
}

Json job_json(const ShownJob& job) {
  const auto file_json = [](const std::pair<std::string, std::optional<std::string>>& file) {
    return Json{
        JsonObject{{"name", {file.first}}, {"text", file.second ? Json{valid_utf8(*file.second)} : Json{nullptr}}}};
  };
  JsonArray files;
  for (const auto& file : job.files) files.push_back(file_json(file));
  return {JsonObject{{"schema", {"kq.job/1"}},
                     {"row", to_json(job.row)},
                     {"log", job.row.result ? Json{valid_utf8(job.row.result->log)} : Json{nullptr}},
                     {"files", {std::move(files)}},
                     {"problem", file_json(job.problem)}}};
}

std::string submission_line(const ShownJob& job) {
  const Submission& submission = job.row.entry.submission;
  const auto number = [](auto value) { return Json{static_cast<std::int64_t>(value)}; };
  const auto text = [](auto value) { return Json{std::string(to_string(value))}; };
  JsonObject files;
  for (const auto& [name, content] : job.files) files.emplace_back(name, Json{content.value_or("")});
  JsonObject line{{"id", {submission.label}},
                  {"problem", {submission.problem.name}},
                  {"problem_source", {job.problem.second.value_or("")}},
                  {"files", {std::move(files)}},
                  {"backend", text(submission.backend)},
                  {"device", text(submission.device)},
                  {"precision", text(submission.problem.precision)},
                  {"baseline", text(submission.trials.baseline)},
                  {"profile", text(submission.trials.profile)},
                  {"need_extensions", {submission.trials.need_extensions}},
                  {"params",
                   {JsonObject{{"correctness", number(submission.trials.correctness)},
                               {"warmup", number(submission.trials.warmup)},
                               {"timed", number(submission.trials.timed)}}}},
                  {"truth", {submission.truth.is_used}},
                  {"truth_rms", {submission.truth.rms}},
                  {"truth_max", {submission.truth.max}},
                  {"allow_precision", text(submission.truth.allowed)}};
  if (!submission.gpu_model.empty()) line.emplace_back("gpu", Json{submission.gpu_model});
  if (!submission.author.empty()) line.emplace_back("author", Json{submission.author});
  if (submission.problem.rtol) line.emplace_back("rtol", Json{*submission.problem.rtol});
  if (submission.problem.atol) line.emplace_back("atol", Json{*submission.problem.atol});
  if (submission.time_limit_ms > 0) line.emplace_back("time_limit_s", Json{submission.time_limit_ms / 1e3});
  if (!runs_all_workloads(submission.problem)) {
    JsonArray names;
    for (const Workload& workload : submission.problem.workloads) names.push_back({workload.name});
    line.emplace_back("workloads", Json{std::move(names)});
  }
  if (!submission.labels.empty()) {
    JsonArray labels;
    for (const std::string& label : submission.labels) labels.push_back({label});
    line.emplace_back("require", Json{std::move(labels)});
  }
  if (!submission.tags.empty()) {
    JsonObject tags;
    for (const auto& [name, value] : submission.tags) tags.emplace_back(name, Json{value});
    line.emplace_back("tags", Json{std::move(tags)});
  }
  return producer::to_text({std::move(line)}) + '\n';
}

}  // namespace kq::tools
