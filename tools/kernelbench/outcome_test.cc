#include "tools/kernelbench/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

KernelBenchId id_of(std::string label, std::map<std::string, std::string> tags = {}, std::string problem = "") {
  Submission submission;
  submission.label = std::move(label);
  submission.tags = std::move(tags);
  submission.problem.name = std::move(problem);
  return kernelbench_id(submission).value_or(KernelBenchId{});
}
std::string metadata(const RunRow& row, const char* key, bool strict = false) {
  const KernelBenchOutcome outcome = kernelbench_outcome(row, strict);
  const producer::Json* value = outcome.metadata.find(key);
  return value != nullptr ? producer::to_text(*value) : "";
}
RunRow ended_at(VerdictName name, Stage stage, std::string message) {
  return ended_row("level_1_problem_2_sample_3", name, evidence_at(stage, std::move(message)));
}

TEST(kernelbench_outcome, a_sample_is_identified_by_tags_label_or_problem) {
  const KernelBenchId by_label = id_of("level_1_problem_19_sample_4");
  EXPECT_EQ(by_label.level, 1u);
  EXPECT_EQ(by_label.problem, 19u);
  EXPECT_EQ(by_label.sample, 4u);
  EXPECT_EQ(id_of("level_1_problem_19_sample_4_kernel").sample, 4u);
  const KernelBenchId by_tags = id_of("mine", {{"level", "2"}, {"problem_id", "7"}, {"sample_id", "1"}});
  EXPECT_EQ(by_tags.level, 2u);
  EXPECT_EQ(by_tags.problem, 7u);
  EXPECT_EQ(by_tags.sample, 1u);
  const KernelBenchId by_problem = id_of("mine", {}, "KernelBench/level3/44_MiniGPT");
  EXPECT_EQ(by_problem.level, 3u);
  EXPECT_EQ(by_problem.problem, 44u);
  EXPECT_EQ(by_problem.sample, std::nullopt);
  for (const char* other : {"relu", "level1/relu", "levels/1_relu", "x/1_relu"})
    EXPECT_EQ(id_of("mine", {}, other).level, 0u) << other;
}

TEST(kernelbench_outcome, a_passed_row_has_full_digits_in_milliseconds) {
  RunRow row = passed_row("level_1_problem_2_sample_3", 1'234'567.25, 2'000'000);
  Statistics& times = std::get<Passed>(row.result->verdict).measurement.submission;
  times.sample_count = 4;
  times.std_ns = 2'000;
  times.min_ns = 1'000'000;
  times.max_ns = 2'000'000;
  const KernelBenchOutcome outcome = kernelbench_outcome(row, false);
  EXPECT_TRUE(outcome.compiled);
  EXPECT_TRUE(outcome.correct);
  EXPECT_EQ(outcome.runtime_ms, 1.23456725);
  EXPECT_EQ(producer::to_text(outcome.runtime_stats),
            R"({"mean": 1.23456725, "std": 0.0017320508075688772, "min": 1.0, "max": 2.0, )"
            R"("num_trials": 4, "hardware": "Test CPU", "device": "cpu"})");
  EXPECT_EQ(producer::to_text(outcome.metadata),
            R"json({"hardware": "Test CPU", "device": "cpu", "correctness_trials": "(27 / 27)", )json"
            R"json("kq_verdict": "passed", "kq_job_id": 1})json");
}

TEST(kernelbench_outcome, failures_have_the_metadata_keys_of_kernelbench) {
  EXPECT_EQ(metadata(ended_at(VerdictName::build_failed, Stage::build, "x.cu:3: no"), "compilation_error"),
            R"("x.cu:3: no")");
  EXPECT_EQ(metadata(ended_at(VerdictName::runtime_error, Stage::run, "ValueError: no"), "runtime_error_name"),
            R"("ValueError")");
  EXPECT_EQ(metadata(ended_at(VerdictName::timed_out, Stage::run, ""), "error"), R"("Evaluation timed out")");
  Evidence differs = evidence_at(Stage::judge);
  differs.mismatch = Mismatch{.max_abs_err = 0.25};
  const RunRow wrong = ended_row("level_1_problem_2_sample_3", VerdictName::wrong_answer, differs);
  EXPECT_EQ(metadata(wrong, "max_difference"), R"(["0.250000"])");
  EXPECT_EQ(metadata(wrong, "correctness_issue"), R"("wrong_answer")");
}

TEST(kernelbench_outcome, compiled_means_built_unless_strict) {
  const auto compiled = [](const RunRow& row, bool strict) { return kernelbench_outcome(row, strict).compiled; };
  const RunRow fault = ended_at(VerdictName::gpu_fault, Stage::run, "");
  EXPECT_TRUE(compiled(fault, false));
  EXPECT_FALSE(compiled(fault, true));
  EXPECT_FALSE(compiled(ended_at(VerdictName::timed_out, Stage::build, ""), false));
  EXPECT_FALSE(compiled(ended_at(VerdictName::rejected, Stage::guard, ""), false));
  EXPECT_FALSE(compiled(ended_at(VerdictName::load_failed, Stage::load, ""), false));
  EXPECT_TRUE(compiled(ended_at(VerdictName::rejected, Stage::judge, ""), false));
  EXPECT_TRUE(compiled(ended_at(VerdictName::wrong_answer, Stage::judge, ""), true));
}

// Every verdict either says something about the kernel and has a correct entry, or is left out.
TEST(kernelbench_outcome, every_verdict_has_an_entry_or_none) {
  for (const VerdictRow& verdict : kVerdicts) {
    if (verdict.measured) continue;
    const RunRow row = ended_at(verdict.name, Stage::run, "why");
    const bool is_kernels = verdict.fault == Fault::user || verdict.fault == Fault::policy;
    EXPECT_EQ(is_kernelbench_result(row), is_kernels && verdict.name != VerdictName::cancelled)
        << to_string(verdict.name);
    if (!is_kernelbench_result(row)) continue;
    const KernelBenchOutcome outcome = kernelbench_outcome(row, false);
    EXPECT_FALSE(outcome.correct);
    EXPECT_EQ(outcome.runtime_ms, -1);
    EXPECT_EQ(producer::to_text(outcome.runtime_stats), "{}");
    EXPECT_THAT(producer::to_text(outcome.metadata), ::testing::HasSubstr("why")) << to_string(verdict.name);
  }
  RunRow suspect = passed_row("level_1_problem_2_sample_3", 1, 2);
  suspect.result->verdict = Suspect{*measurement_of(suspect.result->verdict), {}, {}};
  EXPECT_FALSE(kernelbench_outcome(suspect, false).correct);
  EXPECT_FALSE(is_kernelbench_result(queued_row("level_1_problem_2_sample_3")));
}

}  // namespace
}  // namespace kq::tools
