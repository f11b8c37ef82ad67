#include "producer/gateway/evaluation/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kq;
using namespace kq::gateway::evaluation;
using producer::Json;
using testing::HasSubstr;

namespace {

const Pod kPod{"gateway", "10.0.0.1"};

RunRow row_of(Verdict verdict, const std::string& request = "compare") {
  RunRow row;
  row.entry.submission.tags = {{"request", request}, {"timeout", "30"}, {"kernel_name", "add"}};
  row.entry.submission.backend = Backend::cuda;
  row.job.state = JobState::finished;
  row.job.submitted_at_ms = 1'500;
  row.result = Result{};
  row.result->verdict = std::move(verdict);
  row.result->device = {.kind = DeviceKind::cuda, .model = "NVIDIA H100 80GB HBM3", .uuid = "GPU-1", .arch = "sm_90"};
  row.result->software.cuda = "13.0";
  row.result->host.name = "node7";
  return row;
}

RunRow passed(const std::string& request = "compare") {
  const std::vector<std::int64_t> samples{1'234, 2'000, 3'000, 4'000};
  const std::vector<std::int64_t> reference{8'000, 8'000, 8'000, 8'000};
  RunRow row = row_of(
      Passed{{.method = "judge", .submission = summarise(samples), .reference = summarise(reference)}, {}}, request);
  row.result->samples = {samples, reference};
  return row;
}

// The member of a body at a path, "kernel_exec_result.runtime", as text.
std::string at(const Json& body, std::string_view path) {
  const Json* json = &body;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    json = json->find(path.substr(0, dot));
    if (json == nullptr) return "";
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return producer::to_text(*json);
}
std::string flags(const Json& body) {
  return at(body, "kernel_exec_result.compiled") + " " + at(body, "kernel_exec_result.correctness");
}
Json body_of(const RunRow& row) {
  return outcome_body("17.x", row, kPod, {});
}
Verdict ended_at(VerdictName name, Stage stage, const std::string& message = "why", const std::string& reason = "") {
  Evidence evidence;
  evidence.stage = stage;
  evidence.message = message;
  evidence.reason = reason;
  return ended(name, std::move(evidence));
}

}  // namespace

TEST(Answer, a_passed_comparison_has_both_times_and_the_speedup) {
  const Json body = body_of(passed());
  EXPECT_EQ(at(body, "job_id"), "\"17.x\"");
  EXPECT_EQ(at(body, "status"), "\"success\"");
  EXPECT_EQ(flags(body), "true true");
  EXPECT_EQ(at(body, "kernel_exec_result.runtime"), "0.0025585");  // all digits: the original rounds to 0.003
  EXPECT_EQ(at(body, "kernel_exec_result.runtime_stats.median"), "0.0025");
  EXPECT_NEAR(std::stod(at(body, "kernel_exec_result.runtime_stats.percentile_95")), 0.00385, 1e-9);  // interpolated
  EXPECT_NEAR(std::stod(at(body, "kernel_exec_result.runtime_stats.std")), 0.00104, 1e-5);  // of the population
  EXPECT_EQ(at(body, "kernel_exec_result.runtime_samples"), "[0.001234, 0.002, 0.003, 0.004]");
  EXPECT_EQ(at(body, "kernel_exec_result.speedup"), "3.2");
  EXPECT_EQ(at(body, "ref_runtime.mean"), "0.008");
  EXPECT_EQ(at(body, "pod_name"), "\"node7\"");
  EXPECT_EQ(at(body, "gpu_type"), "\"h100\"");
  EXPECT_EQ(at(body, "kernel_exec_result.metadata.kernel_name"), "\"add\"");
  EXPECT_EQ(at(body, "kernel_exec_result.metadata.cuda_version"), "\"13.0\"");
  EXPECT_EQ(at(body, "kernel_exec_result.metadata.gpu_id"), "0");
  EXPECT_EQ(at(body, "kernel_exec_result.compilation_error"), "");  // members without a value are left out
}

TEST(Answer, a_single_kernel_has_no_reference_time) {
  const Json body = body_of(passed("evaluate"));
  EXPECT_EQ(at(body, "ref_runtime"), "");
  EXPECT_EQ(at(body, "kernel_exec_result.speedup"), "");
}

TEST(Answer, a_failed_kernel_is_told_by_its_flags_and_its_runtime_is_a_number) {
  const auto told = [](Verdict verdict, const std::string& request = "compare") {
    const Json body = body_of(row_of(std::move(verdict), request));
    EXPECT_EQ(at(body, "kernel_exec_result.runtime"), "0.0");
    const bool is_compilation = !at(body, "kernel_exec_result.compilation_error").empty();
    const bool is_validation = !at(body, "kernel_exec_result.validation_error").empty();
    return flags(body) + (is_compilation ? " compilation" : "") + (is_validation ? " validation" : "");
  };
  EXPECT_EQ(told(ended_at(VerdictName::wrong_answer, Stage::judge)), "true false validation");
  EXPECT_EQ(told(ended_at(VerdictName::build_failed, Stage::build)), "false false compilation");
  EXPECT_EQ(told(ended_at(VerdictName::load_failed, Stage::load)), "false false compilation");
  EXPECT_EQ(told(ended_at(VerdictName::runtime_error, Stage::run)), "true false validation");
  EXPECT_EQ(told(ended_at(VerdictName::gpu_fault, Stage::run)), "true false validation");
  EXPECT_EQ(told(ended_at(VerdictName::crashed, Stage::load)), "false false compilation");
  EXPECT_EQ(told(ended_at(VerdictName::out_of_memory, Stage::run)), "true false validation");
  EXPECT_EQ(told(ended_at(VerdictName::rejected, Stage::guard)), "false false compilation validation");
  EXPECT_EQ(told(ended_at(VerdictName::rejected, Stage::run)), "true false validation");
  // A broken reference is no fault of the custom kernel; a single kernel is its own reference.
  EXPECT_EQ(told(ended_at(VerdictName::problem_invalid, Stage::load)), "true false validation");
  EXPECT_EQ(told(ended_at(VerdictName::problem_invalid, Stage::load), "evaluate"), "false false compilation");
  EXPECT_EQ(told(ended_at(VerdictName::problem_invalid, Stage::run), "evaluate"), "true false validation");
}

TEST(Answer, a_comparison_without_a_time_has_zeros) {
  const Json body = body_of(row_of(ended_at(VerdictName::wrong_answer, Stage::judge)));
  EXPECT_EQ(at(body, "ref_runtime"), R"({"mean": 0.0, "std": 0.0, "min": 0.0, "max": 0.0, "median": 0.0, )"
                                     R"("percentile_95": 0.0, "percentile_99": 0.0})");
}

TEST(Answer, what_is_no_property_of_the_kernel_is_a_failure_of_the_job) {
  for (const VerdictName name :
       {VerdictName::compiled_only, VerdictName::timed_out, VerdictName::too_large, VerdictName::unsupported_here,
        VerdictName::cancelled, VerdictName::expired, VerdictName::abandoned}) {
    const RunRow row = row_of(ended_at(name, Stage::run));
    EXPECT_TRUE(failure_of(row)) << to_string(name);
    EXPECT_EQ(status_of(row), "failed");
    EXPECT_EQ(at(job_body("1.x", row, kPod), "result"), "");
  }
  EXPECT_EQ(*failure_of(row_of(ended_at(VerdictName::timed_out, Stage::run))), "Job timed out after 30 seconds: why");
  EXPECT_FALSE(failure_of(passed()));
}

TEST(Answer, every_verdict_has_an_answer) {
  for (const VerdictRow& verdict : kVerdicts) {
    if (verdict.measured) continue;
    const RunRow row = row_of(ended_at(verdict.name, Stage::run));
    EXPECT_TRUE(failure_of(row).has_value() || !at(body_of(row), "kernel_exec_result").empty());
  }
}

TEST(Answer, the_use_of_a_stream_is_told_with_its_place) {
  Evidence evidence;
  evidence.stage = Stage::guard;
  evidence.reason = "stream";
  evidence.rule = "python_stream";
  evidence.place = "kernel.py:3";
  evidence.message = "torch.cuda.Stream";
  const Json body = body_of(row_of(ended(VerdictName::rejected, std::move(evidence))));
  EXPECT_EQ(at(body, "kernel_exec_result.stream_violation.place"), "\"kernel.py:3\"");
  EXPECT_EQ(at(body, "kernel_exec_result.validation_error"), "\"kernel.py:3: torch.cuda.Stream\"");
}

TEST(Answer, a_suspect_result_counts_as_right_and_says_why_it_is_suspect) {
  RunRow row = passed();
  const Measurement measured = *measurement_of(row.result->verdict);
  Evidence evidence;
  evidence.message = "the inputs never change";
  row.result->verdict = Suspect{measured, {}, evidence};
  EXPECT_EQ(flags(body_of(row)), "true true");
  EXPECT_EQ(at(body_of(row), "kernel_exec_result.suspicion"), "\"the inputs never change\"");
}

TEST(Answer, metrics_are_those_of_the_longest_kernel) {  // the original lets the last one win
  RunRow row = passed("evaluate");
  const auto kernel = [](const char* name, double ns) {
    return KernelProfile{name,
                         {{"timing_metrics.gpu_time_duration_sum", ns}, {"speed_of_light.sm_throughput_pct", ns / 10}}};
  };
  row.result->profile = Profile{.tool = "ncu", .kernels = {kernel("long", 900), kernel("short", 100)}};
  const Json body = body_of(row);
  EXPECT_EQ(at(body, "kernel_exec_result.metadata.device_metrics.speed_of_light.sm_throughput_pct"), "90.0");
  EXPECT_THAT(at(body, "kernel_exec_result.metadata.device_metrics.kernels"), HasSubstr("\"kernel_name\": \"short\""));
  row.entry.submission.tags["request"] = "compare";
  EXPECT_EQ(at(body_of(row),
               "kernel_exec_result.metadata.device_metrics.custom_device_metrics.speed_of_light.sm_throughput_pct"),
            "90.0");
  row.result->profile = Profile{.message = "there is no ncu"};
  EXPECT_EQ(at(body_of(row), "kernel_exec_result.profiling_error"), "\"there is no ncu\"");
}

TEST(Answer, a_job_has_its_result_once_it_is_finished) {
  RunRow row = passed();
  EXPECT_EQ(at(job_body("17.x", row, kPod), "status"), "\"completed\"");
  EXPECT_EQ(at(job_body("17.x", row, kPod), "created_at"), "1.5");
  EXPECT_EQ(at(job_body("17.x", row, kPod), "result.kernel_exec_result.correctness"), "true");
  row.result.reset();
  row.job.state = JobState::leased;
  EXPECT_EQ(at(job_body("17.x", row, kPod), "status"), "\"submitted\"");
  EXPECT_EQ(at(job_body("17.x", row, kPod), "result"), "");
}

TEST(Answer, errors_have_the_members_that_clients_look_for) {
  const Json error = error_body("the broker does not answer", "17.x", kPod);
  EXPECT_EQ(
      producer::to_text(error),
      R"({"kernel_exec_result": {}, "ref_runtime": {}, "pod_name": "gateway", "pod_ip": "10.0.0.1", )"
      R"("status": "error", "error": "the broker does not answer", "compilation_method": "cupy", "job_id": "17.x"})");
  EXPECT_EQ(
      producer::to_text(client_error_body({.fields = {{"a -> b", "is required", "missing"}}})),
      R"({"error": "Invalid request format", "validation_errors": [{"field": "a -> b", "message": "is required", )"
      R"("type": "missing"}], "status": "client_error"})");
}

TEST(Answer, only_types_of_gpus_that_clients_know_are_named) {
  EXPECT_EQ(gpu_type_of("NVIDIA H200"), "h200");
  EXPECT_EQ(gpu_type_of("NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(gpu_type_of("NVIDIA L4"), "");
}
