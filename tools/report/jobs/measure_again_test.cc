#include "tools/report/jobs/measure_again.h"

#include <gtest/gtest.h>

#include "core/testing/examples.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

TEST(MeasureAgain, names_the_files_of_a_plain_job) {
  Submission submission = queued_row("relu/a").entry.submission;
  submission.problem.file = "relu.py";
  EXPECT_EQ(measure_again_command(submission, "r1"),
            "kq submit kernel.py --problem relu.py --backend torch --run r1-again --force-rerun --wait");
}

TEST(MeasureAgain, has_every_option_that_decides_the_result) {
  EXPECT_EQ(measure_again_command(examples::submission(), "r 1"),
            "kq submit relu.py --problem 19_ReLU.py --precision bf16 --rtol 0.01 --atol 0.001 --workloads large "
            "--backend triton --device cuda --gpu 'NVIDIA H200' --baseline compile --need-extensions --no-truth "
            "--truth-rms 2.5 --truth-max 4.5 --allow-precision tf32 --time-limit 45 --require nvlink --require rack-7 "
            "--run 'r 1-again' --force-rerun --wait");
}

TEST(MeasureAgain, a_hostile_name_is_one_word_of_the_shell) {
  Submission submission = queued_row("relu/a").entry.submission;
  submission.problem.file = "$(touch x); '.py";
  EXPECT_NE(measure_again_command(submission, "r").find(R"('$(touch x); '\''.py')"), std::string::npos)
      << measure_again_command(submission, "r");
}

}  // namespace
}  // namespace kq::tools
