#include "producer/formats/popcorn/eval_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer::popcorn {
namespace {

using testing::HasSubstr;

Json json(std::string_view text) {
  return parse_json(text).value();
}

class EvalProblemTest : public testing::Test {
 protected:
  Board board() {
    Board made{.name = "add", .lang = "py"};
    made.files = {{"reference.py", folder_.write("reference.py", "X = 1\n")}};
    made.program = BoardFile{"eval.py", folder_.write("eval.py", "print(1)\n")};
    made.submission_name = "kernel.py";
    made.config = json(R"({"main": "eval.py"})");
    made.tests = {json(R"({"n": 16, "flag": true, "sizes": [1, 2], "seed": 1})")};
    made.benchmarks = {json(R"({"n": 1, "seed": 2})"), json(R"({"n": 2, "seed": 3})")};
    made.ranking = Ranking::geom;
    return made;
  }
  static Json problem_of(const Board& board) {
    const auto files = eval_files(board, "x = 1\n");
    EXPECT_TRUE(files) << files.error().message;
    return json(*files->problem.text);
  }
  static std::string why(const Board& board) {
    const auto files = eval_files(board, "x = 1\n");
    return files ? "nothing" : files.error().message;
  }

  TestFolder folder_;
};

TEST_F(EvalProblemTest, the_problem_has_all_files_and_the_lines_of_its_cases) {
  const Json problem = problem_of(board());
  EXPECT_EQ(to_text(*problem.find("tests")), R"(["n: 16; flag: True; sizes: [1, 2]; seed: 1"])");
  EXPECT_EQ(to_text(*problem.find("test_names")), R"x(["test.0 (n: 16; flag: True; sizes: [1, 2])"])x");
  EXPECT_EQ(to_text(*problem.find("benchmarks")), R"(["n: 1; seed: 2", "n: 2; seed: 3"])");
  EXPECT_EQ(to_text(*problem.find("files")),
            R"({"reference.py": "X = 1\n", "eval.py": "print(1)\n", "kernel.py": null})");
  EXPECT_EQ(to_text(*problem.find("config")), R"({"main": "eval.py"})");
  EXPECT_EQ(problem.find("seed"), nullptr);
}

TEST_F(EvalProblemTest, the_case_file_of_a_ranking_by_the_last_benchmark_has_only_that) {
  Board last = board();
  last.ranking = Ranking::last;
  last.seed = "123456789012345678901234567890";
  const Json problem = problem_of(last);
  EXPECT_EQ(to_text(*problem.find("benchmarks")), R"(["n: 2; seed: 3"])");
  EXPECT_EQ(to_text(*problem.find("benchmark_names")), R"x(["benchmark.0 (n: 2)"])x");
  EXPECT_EQ(*problem.find("seed")->text(), last.seed);
}

TEST_F(EvalProblemTest, what_cannot_run_is_said_in_one_sentence) {
  Board wrong = board(), without = board(), empty = board();
  wrong.mistake = "task.yml: lang must be py or cu";
  without.program.reset();
  empty.tests.clear();
  empty.benchmarks.clear();
  EXPECT_EQ(why(wrong), "leaderboard add cannot be read: task.yml: lang must be py or cu");
  EXPECT_THAT(why(without), HasSubstr("none of its files is the program that config.main names"));
  EXPECT_THAT(why(empty), HasSubstr("it has neither tests nor benchmarks"));
}

}  // namespace
}  // namespace kq::producer::popcorn
