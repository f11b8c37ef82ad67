#include "producer/formats/popcorn/judged_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer::popcorn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json json(std::string_view text) {
  return parse_json(text).value();
}

TEST(JudgedProblemTest, files_workloads_and_program_make_the_problem) {
  TestFolder folder;
  Board board{.name = "add", .lang = "py"};
  board.files = {{"reference.py", folder.write("reference.py", "X = 1\n")},
                 {"task.py", folder.write("task.py", "Y = 1\n")}};
  board.tests = {json(R"({"n": 17, "flag": true, "seed": 1})")};
  board.benchmarks = {json(R"({"n": 1024, "seed": 1})")};
  const auto files = judged_files(board, "import task\n");
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(*files->problem.text, HasSubstr("\"reference.py\": \"X = 1\\n\""));
  EXPECT_THAT(*files->problem.text, HasSubstr(R"py("test.0 (n: 17; flag: True)", "weight": 0, "case": {"n": 17)py"));
  EXPECT_THAT(*files->problem.text, HasSubstr(std::string(kReferenceSide)));
  std::vector<std::string> names;
  for (const FileRef& file : files->submission) names.push_back(file.name);
  EXPECT_THAT(names, ElementsAre("popcorn_entry.py", "submission.py", "task.py"));
}

TEST(JudgedProblemTest, a_problem_in_another_language_is_refused) {
  Board board{.name = "add", .lang = "cu"};
  const auto files = judged_files(board, "x");
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().message,
            "leaderboard add cannot be judged here: its lang is cu, so its data are C++ values and no "
            "tensors; kq submit --judged-by problem runs its own program");
}

}  // namespace
}  // namespace kq::producer::popcorn
