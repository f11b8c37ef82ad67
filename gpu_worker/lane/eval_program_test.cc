#include "gpu_worker/lane/eval_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/leaderboard.h"
#include "core/plan.h"
#include "core/testing/examples.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class EvalProgramTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(out_); }
  void TearDown() override { fs::remove_all(out_); }
  EvalReport report(const std::string& text, int wait_status = 0, DeviceKind device = DeviceKind::cuda) const {
    std::ofstream(out_ / "result.json") << text;
    return eval_report(out_, wait_status, device);
  }

  const fs::path out_ = fs::temp_directory_path() / ("kq-eval-" + std::to_string(::getpid()));
};

TEST_F(EvalProgramTest, a_passed_run_is_self_reported_and_has_the_score_as_its_time) {
  const EvalReport read = report(R"json({"verdict": "passed", "score_ns": 1500.0, "cases": [
      {"name": "test.0 (n: 1)", "timed": false, "passed": true, "message": ""},
      {"name": "benchmark.0 (n: 2)", "timed": true, "passed": true, "message": "", "runs": 7, "mean": 1500,
       "std": 2, "best": 1400, "worst": 1600}]
})json");
  const Measurement* const measured = measurement_of(read.verdict);
  ASSERT_NE(measured, nullptr);
  EXPECT_EQ(measured->method, kSelfReported);
  EXPECT_EQ(measured->submission.median_ns, 1500);
  EXPECT_EQ(measured->submission.sample_count, 7u);
  EXPECT_EQ(speedup(*measured), 0) << "the program times no reference";
  ASSERT_EQ(read.cases.size(), 2u);
  EXPECT_EQ(read.cases[0].weight, 0);
  EXPECT_EQ(measurement_of(read.cases[1].verdict)->submission.max_ns, 1600);
}

TEST_F(EvalProgramTest, the_noise_is_the_largest_of_the_cases_and_that_of_the_machine_at_least) {
  const auto share = [&](double deviation, DeviceKind device) {
    const EvalReport read = report(R"json({"verdict": "passed", "score_ns": 1000, "cases": [
        {"name": "benchmark.0", "timed": true, "passed": true, "runs": 100, "mean": 500, "std": 1},
        {"name": "benchmark.1", "timed": true, "passed": true, "runs": 100, "mean": 2000, "std": )json" +
                                       std::to_string(deviation) + "}]}",
                                   0, device);
    const Measurement& slow = *measurement_of(read.cases[1].verdict);
    const Measurement& all = *measurement_of(read.verdict);
    EXPECT_DOUBLE_EQ(all.noise_ns / 1000, slow.noise_ns / 2000);
    return all.noise_ns / 1000;
  };
  EXPECT_DOUBLE_EQ(share(1, DeviceKind::cuda), kNoiseShareMin);
  EXPECT_DOUBLE_EQ(share(1, DeviceKind::cpu), kProcessNoiseShare);
  EXPECT_GT(share(2000, DeviceKind::cpu), 0.3);
}

TEST_F(EvalProgramTest, a_failure_keeps_its_stage_and_its_reason) {
  const EvalReport read =
      report(R"json({"verdict": "wrong_answer", "stage": "test", "message": "test.0: off", "cases": [
      {"name": "test.0", "timed": false, "passed": false, "message": "off"}]})json");
  EXPECT_EQ(name_of(read.verdict), VerdictName::wrong_answer);
  EXPECT_EQ(evidence_of(read.verdict)->reason, "test");
  EXPECT_EQ(evidence_of(read.verdict)->message, "test.0: off");
  EXPECT_EQ(name_of(read.cases[0].verdict), VerdictName::wrong_answer);
}

TEST_F(EvalProgramTest, a_program_that_asks_for_a_gpu_is_unsupported_where_there_is_none) {
  const std::string text =
      R"json({"verdict": "runtime_error", "stage": "test", "message": "RuntimeError: Found no NVIDIA driver"})json";
  EXPECT_EQ(name_of(report(text, 0, DeviceKind::cpu).verdict), VerdictName::unsupported_here);
  EXPECT_EQ(name_of(report(text).verdict), VerdictName::runtime_error);
}

TEST_F(EvalProgramTest, a_report_that_contradicts_itself_does_not_pass) {
  const std::string failed = R"json([{"name": "test.0", "timed": false, "passed": false}])json";
  for (const std::string& text :
       {std::string(R"json({"verdict": "passed", "score_ns": 1, "cases": []})json"),
        std::string(R"json({"verdict": "abandoned"})json"), std::string(R"json({"verdict": 7})json"),
        R"json({"verdict": "passed", "score_ns": 1, "cases": )json" + failed + "}"}) {
    EXPECT_EQ(name_of(report(text).verdict), VerdictName::runtime_error) << text;
  }
}

TEST_F(EvalProgramTest, odd_numbers_are_bounded) {
  const EvalReport read = report(R"json({"verdict": "passed", "score_ns": -1, "cases": [
      {"name": "benchmark.0", "timed": true, "passed": true, "runs": 1e300, "mean": 1e300, "std": "x"}]})json");
  const Measurement* const measured = measurement_of(read.cases[0].verdict);
  ASSERT_NE(measured, nullptr);
  EXPECT_EQ(measured->submission.median_ns, 1e15);
  EXPECT_EQ(measured->submission.std_ns, 0);
  EXPECT_EQ(measurement_of(read.verdict)->submission.median_ns, 0);
}

TEST_F(EvalProgramTest, without_a_report_the_end_of_the_child_decides) {
  EXPECT_EQ(name_of(report("", 9).verdict), VerdictName::crashed);
  EXPECT_EQ(name_of(report("{", 9 | kKilledForMemory).verdict), VerdictName::out_of_memory);
  EXPECT_EQ(name_of(report("[]", 70 << 8).verdict), VerdictName::runtime_error);
  EXPECT_EQ(name_of(eval_timed_out("15 min").verdict), VerdictName::timed_out);
  EXPECT_EQ(name_of(eval_overflowed().verdict), VerdictName::runtime_error);
}

TEST_F(EvalProgramTest, the_workloads_decide_the_mode) {
  Submission submission = examples::submission();
  const auto mode = [&](std::vector<Workload> workloads) {
    submission.problem.workloads = std::move(workloads);
    return eval_mode(submission);
  };
  submission.trials.profile = Profiler::none;
  EXPECT_EQ(mode({{"test.*"}}), EvalMode::test);
  EXPECT_EQ(mode({{"benchmark.*"}}), EvalMode::benchmark);
  EXPECT_EQ(mode({Workload{}}), EvalMode::leaderboard);
  submission.trials.profile = Profiler::ncu;
  EXPECT_EQ(mode({{"benchmark.*"}}), EvalMode::profile);
}

}  // namespace
}  // namespace kq::worker
