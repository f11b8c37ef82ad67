#include "producer/formats/single_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/test_folder.h"

namespace kq {
namespace {

using testing::ElementsAre;

class SingleFile : public testing::Test {
 protected:
  void SetUp() override { options_.problem = folder_.write("scale_problem.py", kTestProblem); }
  TestFolder folder_;
  InputOptions options_;
};

TEST_F(SingleFile, is_a_kernel_with_the_problem_named_beside_it) {
  const auto file = folder_.write("add.py", kTestKernel);
  EXPECT_TRUE(is_single_file(file));
  EXPECT_FALSE(is_single_file(folder_.write("add.txt", "")));
  const Found found = read_single_file(file, options_);
  ASSERT_EQ(found.candidates.size(), 1u);
  const Candidate& candidate = found.candidates[0];
  EXPECT_EQ(candidate.label, "add");
  EXPECT_EQ(candidate.files.size(), 1u);
  EXPECT_EQ(candidate.problem_name, "scale_problem");
  EXPECT_EQ(candidate.problem.name, "scale_problem.py");
  EXPECT_EQ(candidate.backend, std::nullopt);
}

TEST_F(SingleFile, a_cu_file_takes_its_contract_with_it) {
  const Found found = read_single_file(folder_.write("scale.cu", "x"), options_);
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].files[0].name, "scale.cu");
  EXPECT_EQ(found.candidates[0].files[1].name, "scale.json");
}

TEST_F(SingleFile, needs_a_problem) {
  const auto file = folder_.write("add.py", kTestKernel);
  EXPECT_THAT(read_single_file(file, {}).mistakes,
              ElementsAre(file.string() + ": which problem does it solve? say --problem FILE"));
  options_.problem = "gone.py";
  EXPECT_THAT(
      read_single_file(file, options_).mistakes,
      ElementsAre("--problem 'gone.py' is no file; give its path, or the folder that has it with --problems DIR"));
}

}  // namespace
}  // namespace kq
