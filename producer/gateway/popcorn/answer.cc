#include "producer/gateway/popcorn/answer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>

#include "core/base/enum_names.h"
#include "producer/gateway/rest/values.h"

namespace kq::gateway::popcorn {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

constexpr double kNsPerS = 1e9;
constexpr std::string_view kRunner = "kq";  // the name of the launcher in clients' texts
constexpr std::string_view kTextNote =
    "# kq names a submitted file by its SHA-256 and gives no text back. The SHA-256 of this submission:\n# ";

std::string tag_of(const RunRow& row, std::string_view name) {
  const auto& tags = row.entry.submission.tags;
  const auto found = tags.find(std::string(name));
  return found == tags.end() ? "" : found->second;
}

bool is_test(const CaseResult& one) {
  return one.workload.starts_with(kTestPrefix);
}

// One stage of a submission: its name in answers and the workloads of the job that it has.
struct StageRun {
  std::string name;
  bool passed = false;
  std::vector<CaseResult> cases{};
};

// Returns the outcomes of the workloads. The result of a job with one workload has no list of them.
std::vector<CaseResult> cases_of(const RunRow& row) {
  const Result& result = *row.result;
  if (!result.cases.empty() || measurement_of(result.verdict) == nullptr) return result.cases;
  const bool is_timed = tag_of(row, kModeTag) != "test";
  const std::string name = std::string(is_timed ? kBenchmarkPrefix : kTestPrefix) + "0";
  return {{.workload = name, .weight = is_timed ? 1.0 : 0.0, .verdict = result.verdict, .samples = {}}};
}

// Returns the stages that a finished job went through, up to the first that did not pass.
std::vector<StageRun> stages_of(const RunRow& row) {
  const bool passed = std::holds_alternative<Passed>(row.result->verdict);
  const std::string mode = tag_of(row, kModeTag);
  StageRun tests{.name = "test"}, benchmarks{.name = "benchmark"};
  for (const CaseResult& one : cases_of(row)) (is_test(one) ? tests : benchmarks).cases.push_back(one);
  if (mode == "test") {
    tests.passed = passed;
    return {tests};
  }
  benchmarks.passed = passed;
  if (mode != "leaderboard") {
    if (mode == "profile") benchmarks.name = "profile.0";
    return {benchmarks};
  }
  const bool has_failed = std::ranges::any_of(
      tests.cases, [](const CaseResult& one) { return std::holds_alternative<Ended>(one.verdict); });
  tests.passed = passed || (!tests.cases.empty() && !has_failed && !benchmarks.cases.empty());
  if (!tests.passed) return {tests};
  if (!passed) return {tests, benchmarks};
  StageRun ranked = benchmarks;
  ranked.name = "leaderboard";
  return {tests, benchmarks, ranked};
}

// Returns the score in seconds: of a ranking by the mean the arithmetic mean of the benchmarks, else the job's time.
std::optional<double> score_of(const RunRow& row) {
  if (!std::holds_alternative<Passed>(row.result->verdict)) return std::nullopt;
  double sum_ns = 0, count = 0;
  for (const CaseResult& one : cases_of(row)) {
    if (is_test(one)) continue;
    sum_ns += measurement_of(one.verdict)->submission.median_ns;
    ++count;
  }
  if (tag_of(row, kRankingTag) == to_string(Ranking::mean) && count > 0) return sum_ns / count / kNsPerS;
  return measurement_of(row.result->verdict)->submission.median_ns / kNsPerS;
}

std::string file_name_of(const RunRow& row) {
  return tag_of(row, kFileTag);
}

JsonArray runs_json(const RunRow& row) {
  JsonArray runs;
  if (!row.result) return runs;
  for (const StageRun& stage : stages_of(row)) {
    Object run;
    run.add("start_time", time_json(row.job.leased_at_ms)).add("end_time", time_json(row.job.finished_at_ms));
    run.add("mode", stage.name).add("secret", false).add("runner", tag_of(row, kGpuTag));
    const auto score = stage.name == "leaderboard" ? score_of(row) : std::nullopt;
    run.add("score", score ? Json{*score} : Json{nullptr}).add("passed", stage.passed);
    runs.push_back(run.json());
  }
  return runs;
}

// Returns the state of the job in the words that clients look for.
std::string status_of(const RunRow& row) {
  if (row.job.state == JobState::queued) return "pending";
  if (!row.result) return "running";
  switch (name_of(row.result->verdict)) {
    case VerdictName::passed:
      return "succeeded";
    case VerdictName::rejected:
      return "hacked";
    case VerdictName::timed_out:
      return "timed_out";
    default:
      return "failed";
  }
}

// Returns the standard error of the mean.
double error_ns(const Statistics& times) {
  return times.sample_count > 0 ? times.std_ns / std::sqrt(times.sample_count) : 0;
}

// Returns "size: 16" of the name "test.0 (size: 16)". The judge cuts long names, so that the bracket may be missing.
std::string spec_in(const std::string& name) {
  const std::size_t open = name.find(" (");
  if (open == std::string::npos) return name;
  const std::size_t end = name.size() - (name.ends_with(')') ? 1 : 0);
  return name.substr(open + 2, end - open - 2);
}

// The flat map of one stage, whose values are texts.
JsonObject map_of(const StageRun& stage, const std::string& failure) {
  JsonObject map;
  const auto add = [&](const std::string& name, std::string value) { map.emplace_back(name, Json{std::move(value)}); };
  const bool has_tests = stage.name == "test";
  const std::string kind(has_tests ? "test" : "benchmark");
  add(kind + "-count", std::to_string(stage.cases.size()));
  for (std::size_t i = 0; i < stage.cases.size(); ++i) {
    const CaseResult& one = stage.cases[i];
    const std::string prefix = kind + "." + std::to_string(i) + ".";
    add(prefix + "spec", spec_in(one.workload));
    const bool has_failed = std::holds_alternative<Ended>(one.verdict);
    if (has_tests || has_failed) add(prefix + "status", has_failed ? "fail" : "pass");
    if (has_failed) add(prefix + "error", failure);
    const Measurement* measured = measurement_of(one.verdict);
    if (has_tests || measured == nullptr) continue;
    const Statistics& times = measured->submission;
    add(prefix + "runs", std::to_string(times.sample_count));
    for (const auto& [name, ns] :
         {std::pair{"mean", times.median_ns}, std::pair{"std", times.std_ns}, std::pair{"err", error_ns(times)},
          std::pair{"best", times.min_ns}, std::pair{"worst", times.max_ns}})
      add(prefix + name, producer::to_text(Json{ns}));
  }
  add("check", stage.passed ? "pass" : "fail");
  return map;
}

std::string_view text_in(const JsonObject& map, const std::string& name) {
  const auto found = std::ranges::find(map, name, &producer::JsonMember::name);
  return found == map.end() || found->value.text() == nullptr ? std::string_view() : *found->value.text();
}

// Returns what the profiler found, a line for each figure.
std::string profile_text(const Result& result) {
  if (!result.profile) return "there is no profile, because the submission did not pass\n";
  std::string text;
  if (!result.profile->message.empty()) text += result.profile->message + "\n";
  for (const KernelProfile& kernel : result.profile->kernels) {
    text += kernel.kernel + "\n";
    for (const ProfileMetric& metric : kernel.metrics)
      text += "  " + metric.name + ": " + producer::to_text(Json{metric.value}) + "\n";
  }
  return text;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = at; i < at + 3; ++i)
      bits = (bits << 8) | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) text += at + i <= bytes.size() ? kDigits[(bits >> (18 - 6 * i)) & 63] : '=';
  }
  return text;
}

Json stage_json(const RunRow& row, const StageRun& stage, const std::string& failure) {
  const Result& result = *row.result;
  JsonObject map = map_of(stage, failure);
  Object profile;
  const bool is_profile = stage.name.starts_with("profile");
  if (is_profile) {  // clients want the number of reports as a number
    map = JsonObject{};
    map.emplace_back("benchmark-count", Json{std::int64_t{1}});
    map.emplace_back("benchmark.0.spec", Json{std::string("one call of the first benchmark")});
    map.emplace_back("benchmark.0.report", Json{base64(profile_text(result))});
    map.emplace_back("check", Json{std::string(stage.passed ? "pass" : "fail")});
    profile.add("profiler", result.profile ? result.profile->tool : "ncu").add("trace", "").add("download_url", "");
  }
  const bool ran = measurement_of(result.verdict) != nullptr || !stage.cases.empty();
  Object run;
  run.add("success", ran).add("passed", stage.passed).add("command", "kq");
  run.add("stdout", result.log).add("stderr", stage.passed ? std::string() : failure);
  run.add("exit_code", stage.passed ? 0 : 112).add("duration", static_cast<double>(result.times.run_ms) / 1e3);
  run.add("result", Json{std::move(map)});
  Object made;
  made.add("start", time_json(row.job.leased_at_ms)).add("end", time_json(row.job.finished_at_ms));
  made.add("compilation", Json{nullptr}).add("run", run.json());
  made.add("profile", is_profile ? profile.json() : Json{nullptr});
  return made.json();
}

// Returns what a stage measured, under its title.
std::string stage_report(const StageRun& stage, const std::string& failure) {
  const bool has_tests = stage.name == "test";
  const std::string_view title = has_tests ? "Tests" : stage.name == "leaderboard" ? "Ranked Benchmark" : "Benchmarks";
  const JsonObject map = map_of(stage, failure);
  std::string text = "## " + std::string(title) + "\n```\n";
  for (std::size_t i = 0; i < stage.cases.size(); ++i) {
    const auto value = [&](const char* name) {
      return std::string(text_in(map, (has_tests ? "test." : "benchmark.") + std::to_string(i) + "." + name));
    };
    if (value("status") == "fail") {
      text += "❌ " + value("spec") + "\n> " + value("error") + "\n";
    } else if (has_tests) {
      text += "✅ " + value("spec") + "\n";
    } else if (const Measurement* measured = measurement_of(stage.cases[i].verdict)) {
      const Statistics& times = measured->submission;
      text += value("spec") + "\n ⏱ " + time_words(times.median_ns, error_ns(times)) + "\n ⚡ " +
              time_words(times.min_ns) + " 🐌 " + time_words(times.max_ns) + "\n\n";
    }
  }
  return text + "```\n";
}

std::string stage_line(const StageRun& stage) {
  const std::string_view noun = stage.name == "test"          ? "Testing"
                                : stage.name == "benchmark"   ? "Benchmarking"
                                : stage.name == "leaderboard" ? "Leaderboard run"
                                                              : "Profiling";
  return (stage.passed ? "✅ " : "❌ ") + std::string(noun) + (stage.passed ? " successful\n" : " failed\n");
}

}  // namespace

Response error_answer(int status, const std::string& sentence) {
  Object body;
  body.add("detail", sentence);
  return json_response(status, body.json());
}

Response error_answer(const Error& error) {
  Response response = error_answer(gateway::status_of(error.kind), error.message);
  if (response.status == 503) response.headers.emplace_back("Retry-After", std::to_string(kRetryAfterSeconds));
  return response;
}

Json summary_json(const RunRow& row, const Submitted& submitted) {
  JsonArray runs;
  Object run;
  run.add("gpu_type", tag_of(row, kGpuTag));
  const bool is_ranked = row.result && tag_of(row, kModeTag) == "leaderboard";
  const auto score = is_ranked ? score_of(row) : std::nullopt;
  run.add("score", score ? Json{*score} : Json{nullptr});
  runs.push_back(run.json());
  Object summary;
  summary.add("id", submitted.id).add("leaderboard_name", tag_of(row, kBoardTag));
  summary.add("file_name", file_name_of(row)).add("submission_time", time_json(submitted.at_ms));
  summary.add("done", row.result.has_value()).add("runs", Json{std::move(runs)});
  return summary.json();
}

Json details_json(const RunRow& row, const Submitted& submitted, const std::optional<JobStatus>& waiting) {
  const std::string failure = row.result ? failure_of(*row.result) : "";
  Object job;
  job.add("status", status_of(row)).add("error", failure.empty() ? Json{nullptr} : Json{failure});
  job.add("last_heartbeat", time_json(row.job.finished_at_ms));
  const auto& files = row.entry.submission.files;
  const std::string hash = files.size() > 1 ? to_hex(files[1].hash) : "";
  Object details;
  details.add("id", submitted.id).add("leaderboard_id", submitted.board_id);
  details.add("leaderboard_name", tag_of(row, kBoardTag)).add("file_name", file_name_of(row));
  details.add("user_id", submitted.user).add("submission_time", time_json(submitted.at_ms));
  details.add("done", row.result.has_value()).add("code", std::string(kTextNote) + hash);
  details.add("runs", Json{runs_json(row)}).add("job", job.json());
  details.add("runner_queue", waiting ? queue_json(row, *waiting) : Json{nullptr});
  return details.json();
}

Json queue_json(const RunRow& row, const JobStatus& waiting) {
  Object queue;
  queue.add("runner", kRunner).add("gpu", tag_of(row, kGpuTag));
  queue.add("queued_jobs", waiting.why == WaitReason::behind ? waiting.ahead : 0);
  return queue.json();
}

std::string failure_of(const Result& result) {
  const Evidence* evidence = evidence_of(result.verdict);
  if (std::holds_alternative<Passed>(result.verdict)) return "";
  std::string words(to_string(name_of(result.verdict)));
  std::ranges::replace(words, '_', ' ');
  if (evidence == nullptr) return words;
  if (!evidence->rule.empty()) words += " by the rule " + evidence->rule;
  if (!evidence->message.empty()) words += ": " + evidence->message;
  if (!evidence->place.empty() && words.find(evidence->place) == std::string::npos)
    words += " (" + evidence->place + ")";
  if (!evidence->hint.empty()) words += "; " + evidence->hint;
  return words;
}

Json result_json(const RunRow& row) {
  const Result& result = *row.result;
  const std::string failure = failure_of(result);
  Object system;
  system.add("gpu", result.device.model).add("device_count", 1).add("cpu", result.host.cpu);
  system.add("runtime", result.device.kind == DeviceKind::cuda ? "CUDA" : "CPU").add("platform", result.host.kernel);
  system.add("torch", result.software.torch).add("hostname", result.host.name);
  Object runs;
  for (const StageRun& stage : stages_of(row)) runs.add(stage.name, stage_json(row, stage, failure));
  Object full;
  full.add("success", row_of(name_of(result.verdict)).fault != Fault::ours).add("error", failure);
  full.add("system", system.json()).add("runs", runs.json());
  Object event;
  event.add("status", "success").add("results", Json{JsonArray{full.json()}});
  event.add("reports", Json{JsonArray{Json{report_of(row)}}});
  return event.json();
}

std::string report_of(const RunRow& row) {
  const Result& result = *row.result;
  const std::string failure = failure_of(result);
  const std::vector<StageRun> stages = stages_of(row);
  std::string text;
  for (const StageRun& stage : stages) text += stage_line(stage);
  if (!failure.empty()) text += "> " + failure + "\n";
  for (const StageRun& stage : stages) {
    if (!stage.cases.empty()) text += stage_report(stage, failure);
  }
  if (tag_of(row, kModeTag) == "profile") text += "## Profile\n```\n" + profile_text(result) + "```\n";
  return text;
}

std::string time_words(double ns, double error_ns) {
  const auto [scale, unit] = ns > 2e6 ? std::pair{1e6, "ms"} : ns > 2e3 ? std::pair{1e3, "µs"} : std::pair{1.0, "ns"};
  const double time = ns / scale;
  const int digits = time < 10 ? 2 : time < 100 ? 1 : 0;
  char text[96];
  if (error_ns > 0) {
    std::snprintf(text, sizeof text, "%.*f ± %.*f %s", digits, time, digits + 1, error_ns / scale, unit);
  } else {
    std::snprintf(text, sizeof text, "%.*f %s", digits, time, unit);
  }
  return text;
}

}  // namespace kq::gateway::popcorn
