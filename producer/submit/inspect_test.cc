#include "producer/submit/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> labels(const JobSource& source) {
  std::vector<std::string> labels;
  const auto visited = source.each([&](PackedJob&& job) {
    labels.push_back(job.submission.label);
    return Expected<void>();
  });
  EXPECT_TRUE(visited) << visited.error().message;
  return labels;
}

class Inspect : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("problem.py", kTestProblem);
    folder_.write("kernel.py", kTestKernel);
  }
  // Writes a file with one line for each label; "-" makes a line that is not JSON.
  SubmitRequest lines(const std::vector<std::string>& labels) {
    std::string text;
    for (const std::string& label : labels) {
      text +=
          label == "-" ? "no\n" : R"({"id": ")" + label + R"(", "problem": "problem.py", "path": "kernel.py"})" + "\n";
    }
    SubmitRequest request;
    request.inputs = {folder_.write("run.jsonl", text)};
    return request;
  }
  TestFolder folder_;
};

TEST(joined_mistakes, say_once_what_is_said_of_several_files) {
  EXPECT_EQ(joined_mistakes({"a.py: which problem?", "no such label", "b.py: which problem?", "c.py: cannot be read"}),
            (std::vector<std::string>{"a.py and b.py: which problem?", "no such label", "c.py: cannot be read"}));
  std::vector<std::string> many;
  for (int i = 0; i < 10; ++i) many.push_back(std::to_string(i) + ".py: which problem?");
  EXPECT_EQ(joined_mistakes(many), (std::vector<std::string>{"0.py, 1.py, 2.py and 7 more: which problem?"}));
  EXPECT_EQ(joined_mistakes({}), std::vector<std::string>{});
}

TEST_F(Inspect, an_empty_kernel_among_several_is_sent_and_will_fail) {
  folder_.write("many/right.py", kTestKernel);
  folder_.write("many/empty.py", "");
  folder_.write("many/blank.py", " \r\n\t\n");
  SubmitRequest request;
  request.inputs = {folder_ / "many"};
  request.options.problem = folder_ / "problem.py";
  const Inspected inspected = inspect(request);
  EXPECT_THAT(inspected.mistakes, IsEmpty());
  EXPECT_THAT(inspected.notes, ElementsAre("2 kernels are empty, and sent as a comment that says so: they will fail"));
  std::vector<std::string> sources;
  const auto visited = inspected.source.each([&](PackedJob&& job) {
    sources.push_back(contents(job.files.front()).value());
    return Expected<void>();
  });
  EXPECT_TRUE(visited) << visited.error().message;
  EXPECT_THAT(sources, ElementsAre("# the file was empty\n", "# the file was empty\n", kTestKernel));

  request.inputs = {folder_ / "many/empty.py"};
  EXPECT_THAT(inspect(request).mistakes, ElementsAre(HasSubstr("empty.py is empty")));
}

TEST_F(Inspect, a_line_without_a_source_text_is_sent_and_will_fail) {
  SubmitRequest request;
  request.inputs = {folder_.write("run.jsonl", R"({"id": "a", "problem": "problem.py", "source": ""})"
                                               "\n")};
  EXPECT_THAT(inspect(request).mistakes, IsEmpty());
  EXPECT_THAT(inspect(request).notes, ElementsAre(HasSubstr("1 kernel is empty")));
}

TEST_F(Inspect, jobs_can_be_visited_repeatedly) {
  const Inspected inspected = inspect(lines({"a", "b"}));
  EXPECT_THAT(inspected.mistakes, IsEmpty());
  EXPECT_EQ(inspected.source.run, "run");
  EXPECT_EQ(inspected.source.job_count, 2u);
  EXPECT_THAT(labels(inspected.source), ElementsAre("a", "b"));
  EXPECT_THAT(labels(inspected.source), ElementsAre("a", "b"));
  ASSERT_EQ(inspected.recognised.size(), 1u);
  EXPECT_EQ(inspected.recognised[0].format, "jsonl");
  EXPECT_EQ(inspected.recognised[0].reason, "its name ends in .jsonl");
}

// Runs a test in another working directory.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::filesystem::path& folder) { std::filesystem::current_path(folder); }
  ~WorkingFolder() { std::filesystem::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(Inspect, standard_input_is_recognised_by_its_text) {
  SubmitRequest request = lines({"a"});
  request.options.input_name = "standard input";
  const Inspected inspected = inspect(request);
  ASSERT_EQ(inspected.recognised.size(), 1u);
  EXPECT_EQ(inspected.recognised[0].input, "standard input");
  EXPECT_EQ(inspected.recognised[0].reason, "its text says so");
}

TEST_F(Inspect, the_problem_among_several_paths_is_no_kernel) {
  SubmitRequest request;
  request.options.problem = folder_.write("problem.py", kTestProblem);
  request.inputs = {folder_.write("kernel.py", kTestKernel), *request.options.problem};
  const Inspected several = inspect(request);
  EXPECT_THAT(labels(several.source), ElementsAre("kernel"));
  EXPECT_THAT(several.notes, ElementsAre(HasSubstr("problem.py is the problem and no kernel; it is left out")));
  request.inputs = {*request.options.problem};
  EXPECT_THAT(labels(inspect(request).source), ElementsAre("problem"));  // a copy of the reference, on purpose
}

TEST_F(Inspect, an_init_file_that_a_pattern_matches_is_left_out_with_a_note) {
  SubmitRequest request;
  request.options.problem = folder_.write("problem.py", kTestProblem);
  request.inputs = {folder_.write("kernel.py", kTestKernel), folder_.write("__init__.py", "import torch\n")};
  const Inspected inspected = inspect(request);
  EXPECT_THAT(inspected.mistakes, IsEmpty());
  EXPECT_THAT(labels(inspected.source), ElementsAre("kernel"));
  EXPECT_THAT(inspected.notes, ElementsAre(HasSubstr("__init__.py defines nothing and is no kernel; it is left out")));
}

TEST_F(Inspect, labels_and_run_do_not_depend_on_how_a_path_is_written) {
  const std::filesystem::path sweep = folder_ / "sweep";
  std::filesystem::create_directories(sweep / "gelu");
  std::filesystem::create_directories(sweep / "relu");
  for (const char* name : {"sweep/gelu/anna.py", "sweep/relu/anna.py", "sweep/top.py"})
    folder_.write(name, kTestKernel);
  const auto labels_of = [&](const std::filesystem::path& from, const std::vector<std::filesystem::path>& inputs) {
    const WorkingFolder here(from);
    SubmitRequest request;
    request.inputs = inputs;
    request.options.problem = folder_ / "problem.py";
    const Inspected inspected = inspect(request);
    EXPECT_THAT(inspected.mistakes, IsEmpty());
    std::vector<std::string> found = labels(inspected.source);
    std::sort(found.begin(), found.end());
    if (inputs.size() == 1) {
      EXPECT_EQ(inspected.source.run, "sweep") << inputs.front();
    }
    return found;
  };
  const auto wanted = ElementsAre("gelu/anna", "relu/anna", "top");
  for (const char* spelling : {"sweep", "sweep/", "./sweep", "sweep/.", "sweep/gelu/.."})
    EXPECT_THAT(labels_of(folder_ / "", {spelling}), wanted) << spelling;
  EXPECT_THAT(labels_of("/", {sweep}), wanted);
  for (const char* spelling : {".", "./", "../sweep"}) EXPECT_THAT(labels_of(sweep, {spelling}), wanted) << spelling;
  EXPECT_THAT(labels_of(sweep / "gelu", {".."}), wanted);
  // The paths below a folder, as a pattern gives them, have the labels that the folder gives.
  EXPECT_THAT(labels_of(sweep, {"gelu", "relu", "top.py"}), wanted);
  EXPECT_THAT(labels_of(folder_ / "", {"./sweep/gelu/anna.py", sweep / "relu", "sweep/top.py"}), wanted);
}

TEST_F(Inspect, a_default_run_has_the_name_of_the_key_before_it) {
  SubmitRequest request = lines({"a"});
  request.run_owner = "ada";
  EXPECT_EQ(inspect(request).source.run, "ada/run");
  request.run = "other";
  EXPECT_EQ(inspect(request).source.run, "other");
}

TEST_F(Inspect, an_option_that_is_wrong_for_every_file_is_one_mistake) {
  SubmitRequest request;
  request.inputs = {folder_.write("k/a.py", kTestKernel).parent_path()};
  folder_.write("k/b.py", kTestKernel);
  request.options.problem = "nope";
  const Inspected inspected = inspect(request);
  EXPECT_THAT(inspected.mistakes, ElementsAre(HasSubstr("--problem 'nope' is no file")));
  EXPECT_EQ(inspected.mistake_count, 1u);
  EXPECT_EQ(inspected.left_out_count, 2u);
}

TEST_F(Inspect, mistakes_are_reported_and_valid_jobs_remain) {
  const Inspected inspected = inspect(lines({"a", "-", "b", "a"}));
  EXPECT_THAT(inspected.mistakes,
              ElementsAre(HasSubstr("run.jsonl:2: not JSON"), HasSubstr("run.jsonl:4: the label 'a' is taken by ")));
  EXPECT_THAT(labels(inspected.source), ElementsAre("a", "b"));
  EXPECT_EQ(inspected.source.job_count, 2u);
}

TEST_F(Inspect, kernels_that_a_mistake_keeps_out_are_counted) {
  SubmitRequest request = lines({"a", "-", "b", "a"});
  EXPECT_EQ(inspect(request).left_out_count, 2u);
  for (const char* name :
       {"1_sample_0", "7_sample_0", "7_sample_1", "x_sample_1"}) {  // problem 7 is reported as missing once
    folder_.write("run/level_1_problem_" + std::string(name) + "_kernel.py", kTestKernel);
  }
  folder_.write("run/level_1_problem_1_sample_1_kernel.py", std::string(1, '\0'));
  folder_.write("level1/1_a.py", kTestProblem);
  folder_.write("unheaded.py", kTestKernel);
  request.inputs = {folder_ / "run", folder_ / "unheaded.py", folder_ / "gone.py"};
  const Inspected inspected = inspect(request);
  EXPECT_EQ(inspected.left_out_count, 5u);  // a missing input counts as no kernel
  EXPECT_EQ(inspected.source.job_count, 1u);
}

TEST_F(Inspect, mistakes_are_counted_beyond_those_that_are_kept) {
  const Inspected inspected = inspect(lines(std::vector<std::string>(kMistakesKept + 5, "-")));
  ASSERT_EQ(inspected.mistakes.size(), 1u);  // all say the same
  EXPECT_THAT(inspected.mistakes[0], HasSubstr(" and " + std::to_string(kMistakesKept - kPlacesShown) + " more: "));
  EXPECT_EQ(inspected.mistake_count, 1 + 5u);
}

TEST_F(Inspect, a_file_that_changes_in_between_is_noticed) {
  const Inspected inspected = inspect(lines({"a", "b"}));
  folder_.write("kernel.py", std::string(1, '\0'));
  const auto visited = inspected.source.each([](PackedJob&&) { return Expected<void>(); });
  ASSERT_FALSE(visited);
  EXPECT_THAT(visited.error().message, HasSubstr("run.jsonl:1 changed while it was being submitted: "));
  folder_.write("kernel.py", kTestKernel);
  lines({"a"});
  const auto shorter = inspected.source.each([](PackedJob&&) { return Expected<void>(); });
  ASSERT_FALSE(shorter);
  EXPECT_THAT(shorter.error().message, HasSubstr("the input changed"));
}

TEST_F(Inspect, a_visitor_can_stop_the_visits) {
  const Inspected inspected = inspect(lines({"a", "b", "c"}));
  int n = 0;
  const auto visited =
      inspected.source.each([&](PackedJob&&) { return ++n < 2 ? Expected<void>() : bad_input("enough"); });
  ASSERT_FALSE(visited);
  EXPECT_EQ(visited.error().message, "enough");
  EXPECT_EQ(n, 2);
}

}  // namespace
}  // namespace kq::producer
