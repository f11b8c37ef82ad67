#include "producer/formats/problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::HasSubstr;

TEST(FindProblem, beside_its_file_first_then_by_name) {
  TestFolder folder;
  folder.write("run/problems/relu.py", kTestProblem);
  folder.write("set/level1/19_ReLU.py", kTestProblem);
  folder.write("root/KernelBench/level2/1_Gemm_.py", kTestProblem);
  const auto found = find_problem("problems/relu.py", folder / "run", std::nullopt);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->file.path, folder / "run/problems/relu.py");
  EXPECT_EQ(found->name, "relu");
  EXPECT_EQ(find_problem("level1/19_ReLU", folder / "run", folder / "set")->name, "level1/19_ReLU");
  EXPECT_EQ(find_problem("level1/19_ReLU.py", folder / "run", folder / "set")->name, "level1/19_ReLU");
  EXPECT_EQ(find_problem("level2/1_Gemm_", folder / "run", folder / "root")->name, "level2/1_Gemm_");
}

TEST(FindProblem, says_where_it_looked) {
  TestFolder folder;
  EXPECT_EQ(find_problem("gone", "", std::nullopt).error().message,
            "'gone' is no file; give its path, or the folder that has it with --problems DIR");
  EXPECT_THAT(find_problem("gone", "", folder / "").error().message,
              HasSubstr("'gone' is neither a file nor a problem in /"));
}

TEST(KernelBenchProblems, finds_the_dataset_its_parent_or_one_level) {
  TestFolder folder;
  folder.write("KernelBench/level1/1_Square_matmul_.py", kTestProblem);
  folder.write("KernelBench/level1/10_3D.py", kTestProblem);
  folder.write("KernelBench/level1/notes.py", "");
  folder.write("KernelBench/level1/1x_no.py", "");
  folder.write("KernelBench/level1/2_text.txt", "");
  for (const char* root : {"", "KernelBench"}) {
    KernelBenchProblems problems({folder / root}, false);
    EXPECT_EQ(problems.find(1, 1)->name, "level1/1_Square_matmul_");
    EXPECT_EQ(problems.find(1, 10)->name, "level1/10_3D");
    EXPECT_FALSE(problems.find(1, 2));
    EXPECT_FALSE(problems.find(2, 1));
  }
  EXPECT_TRUE(KernelBenchProblems({folder / "KernelBench/level1"}, true).find(1, 1));
  EXPECT_FALSE(KernelBenchProblems({folder / "KernelBench/level1"}, false).find(1, 1));
}

TEST(KernelBenchProblems, the_directory_of_another_level_is_not_used) {
  TestFolder folder;
  folder.write("level2/1_Conv.py", kTestProblem);
  EXPECT_EQ(KernelBenchProblems({folder / "level2"}, true).find(2, 1)->name, "level2/1_Conv");
  EXPECT_FALSE(KernelBenchProblems({folder / "level2"}, true).find(1, 1));
}

TEST(KernelBenchProblems, says_what_is_missing_or_ambiguous) {
  TestFolder folder;
  folder.write("level1/1_a.py", kTestProblem);
  folder.write("level1/1_b.py", kTestProblem);
  KernelBenchProblems problems({folder / ""}, false);
  EXPECT_THAT(problems.find(1, 1).error().message, HasSubstr("problem 1 is ambiguous: "));
  EXPECT_EQ(problems.find(1, 7).error().message,
            "no file level1/7_*.py in the problems; say where they are with --problems DIR");
  EXPECT_EQ(KernelBenchProblems({folder / "nope"}, false).find(1, 7).error().message,
            "--problems: '" + (folder / "nope").string() + "' is no directory");
}

std::string hosted(int level, int id, const std::string& name) {
  return R"({"code": "class Model", "level": )" + std::to_string(level) + R"(, "name": ")" + name +
         R"(", "problem_id": )" + std::to_string(id) + "}\n";
}

TEST(HostedProblems, are_found_by_number_and_by_name) {
  TestFolder folder;
  const auto file = folder.write("kb.jsonl", hosted(1, 19, "19_ReLU") + "\n" + hosted(2, 3, "3_Conv_.py"));
  KernelBenchProblems problems({file}, false);
  const auto relu = problems.find(1, 19);
  ASSERT_TRUE(relu) << relu.error().message;
  EXPECT_EQ(relu->name, "level1/19_ReLU");
  EXPECT_EQ(relu->file.name, "19_ReLU.py");  // the data set has the name without .py
  EXPECT_EQ(*relu->file.text, "class Model");
  EXPECT_EQ(relu->file.path, file.string() + ":1");
  EXPECT_EQ(problems.find(2, 3)->file.name, "3_Conv_.py");
  EXPECT_FALSE(problems.find(2, 4));
  for (const char* written : {"level1/19", "level1/19_ReLU", "level1/19_ReLU.py"})
    EXPECT_EQ(find_problem(written, "", file)->name, "level1/19_ReLU") << written;
  EXPECT_FALSE(find_problem("relu", "", file));
}

TEST(HostedProblems, a_wrong_line_is_named) {
  TestFolder folder;
  for (const char* line : {"{", "[]", R"({"code": 3, "level": 1, "name": "x", "problem_id": 1})",
                           R"({"code": "x", "level": 1, "problem_id": 1})"}) {
    const auto file = folder.write("kb.jsonl", "\n" + std::string(line) + "\n");
    const auto found = KernelBenchProblems({file}, false).find(1, 1);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message.find(file.string() + ":2: "), 0u) << found.error().message;
  }
}

TEST(HostedProblems, a_number_is_enough_of_a_checkout_too) {
  TestFolder folder;
  folder.write("KernelBench/level1/19_ReLU.py", kTestProblem);
  EXPECT_EQ(find_problem("level1/19", "", folder / "")->name, "level1/19_ReLU");
}

}  // namespace
}  // namespace kq::producer
