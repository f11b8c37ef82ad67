#include "producer/formats/popcorn/submissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer::popcorn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTask = R"(files:
  - {name: submission.py, source: "@SUBMISSION@"}
  - {name: reference.py, source: reference.py}
  - {name: eval.py, source: ../eval.py}
lang: py
config: {main: eval.py}
tests: [{n: 16, seed: 1}]
benchmarks: [{n: 1024, seed: 2}]
)";

class SubmissionsTest : public testing::Test {
 protected:
  SubmissionsTest() {
    for (const char* const name : {"add", "sub"}) {
      const std::string folder = std::string("set/problems/one/") + name;
      folder_.write(folder + "/task.yml", kTask);
      folder_.write(folder + "/reference.py", "X = 1\n");
      folder_.write(folder + "/submission.py", "import triton\n@triton.jit\ndef f(): pass\n");
    }
    folder_.write("set/problems/one/eval.py", "print(1)\n");
  }
  Found read(const std::filesystem::path& input, const InputOptions& options = {}) {
    return collect([&](const CandidateSink& sink) { read_submissions(input, options, sink); });
  }
  static InputOptions by(JudgedBy judged_by) {
    InputOptions options;
    options.judged_by = judged_by;
    return options;
  }
  static std::vector<std::string> labels(const Found& found) {
    std::vector<std::string> all;
    for (const Candidate& candidate : found.candidates) all.push_back(candidate.label);
    return all;
  }

  TestFolder folder_;
};

TEST_F(SubmissionsTest, a_problem_is_submitted_against_itself) {
  const auto problem = folder_ / "set/problems/one/add";
  EXPECT_EQ(recognise_submissions(problem), "it holds a task.yml");
  EXPECT_EQ(recognise_submissions(folder_ / "set"), "");
  const Found found = read(problem);
  EXPECT_THAT(found.mistakes, ElementsAre());
  ASSERT_THAT(labels(found), ElementsAre("add/submission"));
  const Candidate& candidate = found.candidates[0];
  EXPECT_EQ(candidate.backend, Backend::triton);
  EXPECT_EQ(candidate.problem_name, "popcorn/add");
  EXPECT_EQ(candidate.trials.timed, 50u);
  EXPECT_EQ(candidate.time_limit_ms, 540'000u);
}

TEST_F(SubmissionsTest, a_self_reported_job_has_a_problem_and_a_label_of_its_own) {
  const Found found = read(folder_ / "set/problems/one/add", by(JudgedBy::both));
  ASSERT_THAT(labels(found), ElementsAre("add/submission", "add/submission@self_reported"));
  EXPECT_EQ(found.candidates[1].backend, Backend::eval_program);
  EXPECT_EQ(found.candidates[1].problem_name, "popcorn/add@self_reported");
  EXPECT_NE(*found.candidates[0].problem.text, *found.candidates[1].problem.text);
  EXPECT_THAT(labels(read(folder_ / "set/problems/one/add", by(JudgedBy::problem))),
              ElementsAre("add/submission@self_reported"));
}

TEST_F(SubmissionsTest, files_are_submitted_to_the_problem_that_is_named) {
  folder_.write("mine/b.py", "x = 1\n");
  folder_.write("mine/a.py", "x = 2\n");
  folder_.write("mine/notes.txt", "no submission");
  InputOptions options, other;
  options.problem = folder_ / "set/problems/one/sub";
  other.problem = folder_ / "mine";
  EXPECT_TRUE(names_problems(folder_ / "mine", options));
  EXPECT_FALSE(names_problems(folder_ / "mine", other));
  EXPECT_THAT(labels(read(folder_ / "mine", options)), ElementsAre("sub/a", "sub/b"));
  EXPECT_THAT(labels(read(folder_ / "mine/b.py", options)), ElementsAre("sub/b"));
}

TEST_F(SubmissionsTest, autocomps_solutions_name_their_problems) {
  folder_.write("sols/gpumode/0_add.py", "x = 1\n");
  folder_.write("sols/gpumode/4_other.py", "x = 1\n");
  InputOptions options;
  options.problems = folder_ / "set";
  const Found found = read(folder_ / "sols/gpumode", options);
  EXPECT_THAT(labels(found), ElementsAre("add/0_add"));
  EXPECT_THAT(found.mistakes, ElementsAre(HasSubstr("4_other.py: ")));
}

TEST_F(SubmissionsTest, a_problem_is_named_by_a_file_of_its_folder) {
  folder_.write("mine/b.py", "x = 1\n");
  for (const char* const file : {"task.yml", "reference.py"}) {
    InputOptions options;
    options.problem = folder_ / "set/problems/one/sub" / file;
    EXPECT_TRUE(names_problems(folder_ / "mine", options)) << file;
    EXPECT_THAT(labels(read(folder_ / "mine/b.py", options)), ElementsAre("sub/b")) << file;
  }
  const auto own = folder_ / "set/problems/one/add/submission.py";
  EXPECT_TRUE(names_problems(own, {}));
  EXPECT_FALSE(names_problems(folder_ / "mine/b.py", {}));
  EXPECT_THAT(labels(read(own)), ElementsAre("add/submission"));
}

TEST_F(SubmissionsTest, a_problem_of_a_set_is_named_by_its_name_or_at_the_head_of_the_file) {
  folder_.write("mine/a.py", "#!POPCORN gpus H100\n#!POPCORN leaderboard sub\nx = 1\n");
  folder_.write("mine/b.cu", "//!POPCORN leaderboard add\nint x;\n");
  folder_.write("mine/c.py", "#!POPCORN leaderboard nosuch\n");
  InputOptions options;
  options.problems = folder_ / "set";
  const Found found = read(folder_ / "mine", options);
  EXPECT_THAT(labels(found), ElementsAre("sub/a", "add/b"));
  EXPECT_THAT(found.mistakes, ElementsAre(HasSubstr("set has no problem 'nosuch'; --problem NAME, a line")));
  options.problem = "add";
  EXPECT_TRUE(names_problems(folder_ / "mine", options));
  EXPECT_THAT(labels(read(folder_ / "mine", options)), ElementsAre("add/a", "add/b", "add/c"));
  folder_.write("relu.py", "x = 1\n");
  options.problem = folder_ / "relu.py";
  EXPECT_FALSE(names_problems(folder_ / "mine", options));
}

TEST_F(SubmissionsTest, gpus_that_a_head_names_get_a_note_where_no_option_chooses_the_device) {
  folder_.write("mine/a.py", "#!POPCORN gpu H100\n#!POPCORN leaderboard sub\nx = 1\n");
  folder_.write("mine/b.cu", "//!POPCORN leaderboard add\n//!POPCORN gpus H100 L4\nint x;\n");
  folder_.write("mine/c.py", "#!POPCORN leaderboard add\nx = 1\n");
  InputOptions options;
  options.problems = folder_ / "set";
  EXPECT_THAT(
      read(folder_ / "mine", options).notes,
      ElementsAre((folder_ / "mine/a.py").string() + ": the line '#!POPCORN gpu H100', and those of 1 more, choose no "
                                                     "device here; --gpu MODEL or --device cpu does"));
  EXPECT_THAT(read(folder_ / "mine/c.py", options).notes, ElementsAre());
  options.problem = "add";
  EXPECT_THAT(
      read(folder_ / "mine/b.cu", options).notes,
      ElementsAre((folder_ / "mine/b.cu").string() +
                  ": the line '//!POPCORN gpus H100 L4' chooses no device here; --gpu MODEL or --device cpu does"));
  options.problem = folder_ / "set/problems/one/sub";
  EXPECT_EQ(read(folder_ / "mine", options).notes.size(), 1u);
  options.gpu_model = "NVIDIA H100";
  EXPECT_THAT(read(folder_ / "mine", options).notes, ElementsAre());
}

TEST_F(SubmissionsTest, the_program_of_a_problem_runs_all_tests_or_all_benchmarks) {
  InputOptions options = by(JudgedBy::problem);
  for (const char* const text : {"test.*", "benchmark.*"}) {
    options.workloads = {{text}};
    EXPECT_THAT(read(folder_ / "set/problems/one/add", options).mistakes, ElementsAre()) << text;
  }
  for (const char* const text : {"benchmrk.*", "test.0"}) {
    options.workloads = {{text}};
    const Found found = read(folder_ / "set/problems/one/add", options);
    EXPECT_THAT(found.mistakes, ElementsAre(HasSubstr(text)));
    EXPECT_THAT(found.candidates, ElementsAre()) << text;
  }
  options.judged_by = JudgedBy::kq;
  EXPECT_THAT(read(folder_ / "set/problems/one/add", options).mistakes, ElementsAre());
}

TEST_F(SubmissionsTest, a_wrong_task_is_a_mistake_with_its_place) {
  folder_.write("set/problems/one/add/task.yml", "lang: rust\n");
  EXPECT_THAT(read(folder_ / "set/problems/one/add").mistakes, ElementsAre(HasSubstr("lang must be py or cu")));
}

}  // namespace
}  // namespace kq::producer::popcorn
