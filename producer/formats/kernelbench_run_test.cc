#include "producer/formats/kernelbench_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Found read(const std::filesystem::path& input, const InputOptions& options) {
  return collect([&](const CandidateSink& sink) { read_kernelbench_run(input, options, sink); });
}

std::vector<std::string> labels(const Found& found) {
  std::vector<std::string> labels;
  for (const Candidate& candidate : found.candidates) labels.push_back(candidate.label);
  return labels;
}

TEST(KernelBenchRun, reads_samples_in_order_and_leaves_other_files_alone) {
  TestFolder folder;
  folder.write("level1/19_ReLU.py", kTestProblem);
  folder.write("level2/3_Conv.py", kTestProblem);
  folder.write("runs/a/level_2_problem_3_sample_0_kernel.py", kTestKernel);
  folder.write("runs/a/level_1_problem_19_sample_10_kernel.py", kTestKernel);
  folder.write("runs/a/level_1_problem_19_sample_9_kernel.py", kTestKernel);
  folder.write("runs/a/level_1_problem_19_sample_9_prompt.txt", "prompt");
  folder.write("runs/a/eval_results.json", "{}");
  EXPECT_NE(recognise_kernelbench_run(folder / "runs/a"), "");
  const Found found = read(folder / "runs/a/", {});  // shells add the slash
  EXPECT_THAT(found.mistakes, IsEmpty());
  EXPECT_THAT(labels(found),
              ElementsAre("level_1_problem_19_sample_9", "level_1_problem_19_sample_10", "level_2_problem_3_sample_0"));
  EXPECT_THAT(found.candidates[1].tags,
              ElementsAre(Pair("level", "1"), Pair("problem_id", "19"), Pair("sample_id", "10")));
  EXPECT_EQ(found.candidates[1].problem_name, "level1/19_ReLU");
  EXPECT_EQ(found.candidates[1].problem.name, "19_ReLU.py");
}

TEST(KernelBenchRun, problems_are_found_beside_the_run_or_by_the_option) {
  TestFolder folder;
  folder.write("repo/KernelBench/level1/1_a.py", kTestProblem);
  folder.write("repo/runs/a/level_1_problem_1_sample_0_kernel.py", kTestKernel);
  folder.write("other/1_b.py", kTestProblem);
  EXPECT_EQ(read(folder / "repo/runs/a", {}).candidates.at(0).problem_name, "level1/1_a");
  InputOptions options;
  options.problems = folder / "other";
  EXPECT_EQ(read(folder / "repo/runs/a", options).candidates.at(0).problem_name, "level1/1_b");
}

TEST(KernelBenchRun, a_flat_folder_serves_one_level_only) {
  TestFolder folder;
  folder.write("flat/1_b.py", kTestProblem);
  folder.write("a/level_1_problem_1_sample_0_kernel.py", kTestKernel);
  folder.write("a/level_2_problem_1_sample_0_kernel.py", kTestKernel);
  InputOptions options;
  options.problems = folder / "flat";
  const Found found = read(folder / "a", options);
  EXPECT_THAT(found.candidates, IsEmpty());
  EXPECT_EQ(found.mistakes.size(), 2u);
}

TEST(KernelBenchRun, a_missing_problem_is_reported_once) {
  TestFolder folder;
  const auto first = folder.write("a/level_1_problem_7_sample_0_kernel.py", kTestKernel);
  folder.write("a/level_1_problem_7_sample_1_kernel.py", kTestKernel);
  EXPECT_THAT(
      read(folder / "a", {}).mistakes,
      ElementsAre(first.string() + ": no file level1/7_*.py in the problems; say where they are with --problems DIR"));
}

TEST(KernelBenchRun, a_missing_folder_of_problems_is_reported_once) {
  TestFolder folder;
  const auto first = folder.write("a/level_1_problem_7_sample_0_kernel.py", kTestKernel);
  folder.write("a/level_1_problem_8_sample_0_kernel.py", kTestKernel);
  InputOptions options;
  options.problems = "nope";
  EXPECT_THAT(read(folder / "a", options).mistakes,
              ElementsAre(first.string() + ": --problems: 'nope' is no directory"));
}

TEST(KernelBenchRun, nothing_is_dropped_silently) {
  TestFolder folder;
  const auto odd = folder.write("a/level_1_problem_x_sample_0_kernel.py", kTestKernel);
  InputOptions options;
  options.problem = "p.py";
  EXPECT_THAT(read(folder / "a", options).mistakes,
              ElementsAre(odd.string() + ": a name like level_1_problem_2_sample_0_kernel.py is needed",
                          (folder / "a").string() + ": --problem serves single files; say --problems DIR for a run"));
}

TEST(KernelBenchRun, is_recognised_by_its_files) {
  TestFolder folder;
  folder.write("a/add.py", kTestKernel);
  EXPECT_EQ(recognise_kernelbench_run(folder / "a"), "");
  EXPECT_EQ(recognise_kernelbench_run(folder / "gone"), "");
}

TEST(KernelBenchRun, resumes_by_problem_and_sample) {
  TestFolder folder;
  folder.write("level1/1_a.py", kTestProblem);
  folder.write("level1/2_b.py", kTestProblem);
  for (const char* name : {"1_sample_0", "1_sample_1", "1_sample_2", "2_sample_0"})
    folder.write("run/level_1_problem_" + std::string(name) + "_kernel.py", kTestKernel);
  // Problem 2 has the form of earlier versions of KernelBench.
  folder.write("run/eval_results.json", R"({"1": [{"sample_id": 0}, {"sample_id": 2}], "2": {"sample_id": 0}})");
  EXPECT_EQ(read(folder / "run", {}).candidates.size(), 4u);
  InputOptions options;
  options.subset.resume = true;
  const Found found = read(folder / "run", options);
  EXPECT_THAT(labels(found), ElementsAre("level_1_problem_1_sample_1"));
  EXPECT_THAT(found.notes, ElementsAre(testing::HasSubstr("3 samples are in ")));
  folder.write("run/eval_results.json", "{");
  EXPECT_THAT(read(folder / "run", options).mistakes, ElementsAre(testing::HasSubstr("eval_results.json: not JSON")));
}

TEST(KernelBenchRun, resumes_by_level_where_the_run_has_several) {
  TestFolder folder;
  folder.write("level1/1_a.py", kTestProblem);
  folder.write("level2/1_a.py", kTestProblem);
  folder.write("level2/2_b.py", kTestProblem);
  for (const char* name : {"1_problem_1", "2_problem_1", "2_problem_2"})
    folder.write("run/level_" + std::string(name) + "_sample_0_kernel.py", kTestKernel);
  InputOptions options;
  options.subset.resume = true;
  folder.write("run/eval_results.json", R"({"1": [{"sample_id": 0, "metadata": {"kq_level": 1}}]})");
  folder.write("run/level2/eval_results.json", R"({"2": [{"sample_id": 0}]})");
  EXPECT_THAT(labels(read(folder / "run", options)), ElementsAre("level_2_problem_1_sample_0"));
  folder.write("run/eval_results.json", R"({"1": [{"sample_id": 0}]})");
  const Found found = read(folder / "run", options);
  EXPECT_EQ(found.candidates.size(), 2u);
  EXPECT_THAT(found.notes, Contains(HasSubstr("does not say the level of 1 result")));
}

TEST(KernelBenchRun, a_subset_can_be_asked_for) {
  TestFolder folder;
  folder.write("level1/1_a.py", kTestProblem);
  folder.write("level2/1_a.py", kTestProblem);
  folder.write("run/level_1_problem_1_sample_0_kernel.py", kTestKernel);
  folder.write("run/level_2_problem_1_sample_1_kernel.py", kTestKernel);
  InputOptions options;
  options.subset.level = 2;
  EXPECT_THAT(labels(read(folder / "run", options)), ElementsAre("level_2_problem_1_sample_1"));
  options.subset.samples_per_problem = 1;
  const Found found = read(folder / "run", options);
  EXPECT_THAT(labels(found), IsEmpty());
  EXPECT_THAT(found.notes, Contains(HasSubstr("run: none of its 2 samples is of the level, the problems and")));
}

}  // namespace
}  // namespace kq::producer
