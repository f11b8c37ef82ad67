#include "producer/formats/kernelbench_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Found read(const std::filesystem::path& input, const InputOptions& options = {}) {
  return collect([&](const CandidateSink& sink) { read_kernelbench_problems(input, options, sink); });
}
std::vector<std::string> labels(const Found& found) {
  std::vector<std::string> labels;
  for (const Candidate& candidate : found.candidates) labels.push_back(candidate.label);
  return labels;
}

class Problems : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"kb/KernelBench/level1/10_b_.py", "kb/KernelBench/level1/2_a.py", "kb/KernelBench/level2/1_c.py"})
      folder_.write(name, kTestProblem);
    folder_.write("kb/KernelBench/level1/notes.py", "x");
    folder_.write("kb/scripts/x.py", "x");
  }
  TestFolder folder_;
};

TEST_F(Problems, a_checkout_its_data_and_a_level_are_known) {
  for (const char* input : {"kb", "kb/", "kb/KernelBench", "kb/KernelBench/level1", "kb/KernelBench/level1/"}) {
    EXPECT_THAT(recognise_kernelbench_problems(folder_ / input), HasSubstr("2_a.py")) << input;
  }
  for (const char* other : {"kb/scripts", "gone"})
    EXPECT_EQ(recognise_kernelbench_problems(folder_ / other), "") << other;
}

TEST_F(Problems, each_is_submitted_against_itself_in_numeric_order) {
  const Found found = read(folder_ / "kb");
  EXPECT_THAT(found.mistakes, IsEmpty());
  EXPECT_THAT(labels(found),
              ElementsAre("level_1_problem_2_sample_0", "level_1_problem_10_sample_0", "level_2_problem_1_sample_0"));
  const Candidate& candidate = found.candidates[1];
  EXPECT_EQ(candidate.problem_name, "level1/10_b_");
  EXPECT_EQ(candidate.problem.name, "10_b_.py");
  EXPECT_EQ(*candidate.files[0].text, std::string(kTestProblem) + "\n\nModelNew = Model\n");
  EXPECT_EQ(candidate.tags.at("problem_id"), "10");
}

TEST_F(Problems, a_subset_can_be_asked_for) {
  InputOptions options;
  options.subset.level = 1;
  options.subset.range = {3, 100};
  EXPECT_THAT(labels(read(folder_ / "kb", options)), ElementsAre("level_1_problem_10_sample_0"));
}

TEST_F(Problems, two_files_of_one_number_are_a_mistake) {
  folder_.write("kb/KernelBench/level2/1_d.py", kTestProblem);
  EXPECT_THAT(read(folder_ / "kb/KernelBench/level2").mistakes, ElementsAre(HasSubstr("problem 1 is ambiguous")));
}

}  // namespace
}  // namespace kq::producer
