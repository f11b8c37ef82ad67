#include "producer/submit/kernelbench_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SubmitRequest applied(const std::vector<std::string>& words) {
  SubmitRequest request;
  const auto done = apply_kernelbench_options(words, request);
  EXPECT_TRUE(done) << done.error().message;
  return request;
}
std::string error_text(const std::string& word) {
  SubmitRequest request;
  const auto done = apply_kernelbench_options({word}, request);
  return done ? "" : done.error().message;
}

TEST(KernelBenchOptions, a_path_is_no_word) {
  TestFolder folder;
  EXPECT_TRUE(is_kernelbench_option("level=1"));
  EXPECT_FALSE(is_kernelbench_option("runs/a=1"));
  EXPECT_FALSE(is_kernelbench_option("=1"));
  EXPECT_FALSE(is_kernelbench_option("runs"));
}

TEST(KernelBenchOptions, a_command_line_of_its_evaluation_is_a_request) {
  const SubmitRequest request = applied({"run_name=mine", "dataset_src=local", "level=2", "subset=(3,5)",
                                         "num_correct_trials=7", "num_perf_trials=200", "num_samples_per_problem=4",
                                         "backend=cuda", "precision=fp16", "eval_mode=local"});
  EXPECT_THAT(request.inputs, ElementsAre("runs/mine"));
  EXPECT_EQ(request.run, "mine");
  EXPECT_TRUE(request.options.subset.has(2, 3, 3));
  EXPECT_FALSE(request.options.subset.has(1, 3, 0));
  EXPECT_FALSE(request.options.subset.has(2, 6, 0));
  EXPECT_FALSE(request.options.subset.has(2, 3, 4));
  EXPECT_EQ(request.options.correctness_trials, 7u);
  EXPECT_EQ(request.options.timed_trials, 200u);
  EXPECT_EQ(request.options.backend, std::nullopt);  // its cuda is Python; whether it compiles anything its text tells
  EXPECT_EQ(applied({"backend=triton"}).options.backend, std::nullopt);
  EXPECT_EQ(request.options.precision, Precision::fp16);
}

TEST(KernelBenchOptions, one_of_run_and_check_too) {
  const SubmitRequest by_path = applied({"ref_origin=local", "ref_arch_src_path=ref.py", "kernel_src_path=new.py"});
  EXPECT_THAT(by_path.inputs, ElementsAre("new.py"));
  EXPECT_EQ(by_path.options.problem, "ref.py");
  const SubmitRequest by_number =
      applied({"ref_origin=kernelbench", "level=1", "problem_id=19", "kernel_src_path=new.py"});
  EXPECT_EQ(by_number.options.problem, "level1/19");
  EXPECT_EQ(by_number.options.problems, ".");
}

TEST(KernelBenchOptions, problems_can_be_listed) {
  EXPECT_TRUE(applied({"problem_ids=[1, 5]"}).options.subset.has(3, 5, 0));
  EXPECT_FALSE(applied({"problem_ids=[1, 5]"}).options.subset.has(3, 4, 0));
  EXPECT_TRUE(applied({"subset=(None,None)"}).options.subset.has(3, 4, 0));
  EXPECT_EQ(applied({"measure_performance=False"}).options.timed_trials, 0u);
}

TEST(KernelBenchOptions, an_option_without_a_meaning_is_reported) {
  SubmitRequest request;
  const auto ignored = apply_kernelbench_options({"timeout=180", "num_gpu_devices=2", "gpu_arch=[Ada]"}, request);
  ASSERT_TRUE(ignored);
  EXPECT_THAT(*ignored, ElementsAre(HasSubstr("num_gpu_devices=2 is ignored: every GPU"),
                                    HasSubstr("gpu_arch=[Ada] is ignored")));
  EXPECT_EQ(request.options.time_limit_ms, 180'000u);
}

TEST(KernelBenchOptions, a_mistake_says_what_would_be_right) {
  EXPECT_THAT(
      error_text("levle=1"),
      HasSubstr("'levle=1' is neither a path nor an option of KernelBench's scripts; those known are run_name, "));
  EXPECT_EQ(error_text("level=one"), "level must be a number from 0 to 1000, got 'one'");
  EXPECT_EQ(error_text("subset=(5,1)"), "subset must be the first and the last problem like (1,10), got '(5,1)'");
  EXPECT_EQ(error_text("num_correct_trials=0"), "num_correct_trials must be at least 1, got 0");
  EXPECT_THAT(error_text("backend=numpy"), HasSubstr("backend must be one of cuda, triton"));
  EXPECT_EQ(error_text("precision=fp8"), "precision must be one of fp32, fp16, bf16, got 'fp8'");
}

}  // namespace
}  // namespace kq::producer
