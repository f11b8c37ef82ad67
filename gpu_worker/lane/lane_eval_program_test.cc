// A lane that runs a problem's own program, on the CPU.
#include "gpu_worker/lane/lane.h"

#include <gtest/gtest.h>

#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {
namespace {

// Its program passes if the submission's file is beside it and it is told no number of GPUs.
constexpr std::string_view kProblem = R"json({"lang": "py", "config": {"main": "eval.py"}, "files": {
  "submission.py": null, "eval.py": "import os, submission\nout = os.fdopen(int(os.environ['POPCORN_FD']), 'w')\n)json"
                                      R"json(is_right = submission.RIGHT and 'POPCORN_GPUS' not in os.environ\n)json"
                                      R"json(end = 'pass' if is_right else 'fail'\n)json"
                                      R"json(print('test.0.status:', end, file=out)\n)json"
                                      R"json(print('check:', end, file=out)\n"},
  "seed": null, "tests": ["n: 1"], "test_names": ["test.0 (n: 1)"], "benchmarks": [], "benchmark_names": [],
  "limits_s": {"test": 20, "benchmark": 20, "leaderboard": 20}, "ranking_by": "geom"})json";

class LaneEvalProgramTest : public ::testing::Test {
 protected:
  static Expected<Result> run(const std::string& source, std::string_view problem = kProblem,
                              std::uint32_t device_count = 1) {
    KQ_TRY_VALUE(TestLane* const tests, TestLane::get());
    Lease lease;
    lease.id = {1, 1};
    lease.device = tests->lane().device();
    lease.submission.label = "test";
    lease.submission.backend = Backend::eval_program;
    lease.submission.files = {{"submission.py", sha256(source)}};
    lease.submission.problem.name = "own";
    lease.submission.problem.file = "popcorn_eval.json";
    lease.submission.problem.hash = sha256(problem);
    lease.submission.problem.workloads = {{"test.*"}};
    lease.submission.problem.device_count = device_count;
    lease.blobs = {{sha256(source), source}, {sha256(problem), std::string(problem)}};
    return tests->lane().run(lease, {.verdict = {}, .dir = TestLane::root() / "built"});
  }
};

TEST_F(LaneEvalProgramTest, its_report_is_the_result) {
  const auto passed = run("RIGHT = True\n");
  ASSERT_TRUE(passed) << passed.error().message;
  ASSERT_EQ(name_of(passed->verdict), VerdictName::passed) << evidence_of(passed->verdict)->message;
  EXPECT_EQ(measurement_of(passed->verdict)->method, kSelfReported);
  ASSERT_EQ(passed->cases.size(), 1u);
  EXPECT_EQ(passed->cases[0].workload, "test.0 (n: 1)");
  const auto wrong = run("RIGHT = False\n");
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_EQ(name_of(wrong->verdict), VerdictName::wrong_answer);
}

TEST_F(LaneEvalProgramTest, a_problem_of_another_form_is_invalid) {
  const auto result = run("RIGHT = True\n", "import torch\n");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(name_of(result->verdict), VerdictName::problem_invalid);
}

TEST_F(LaneEvalProgramTest, a_job_that_needs_more_devices_is_our_fault) {
  const auto result = run("RIGHT = True\n", kProblem, 2);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the job needs 2 devices, and its lane has 1");
}

}  // namespace
}  // namespace kq::worker
