#include "producer/formats/popcorn/problem_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer::popcorn {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTask = R"(files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "reference.py", "source": "reference.py"}
  - {"name": "common.py", "source": "../common.py"}
  - {"name": "run.py", "source": "run.py"}
lang: py
config: {main: run.py}
description: Adds.
tests:
  - {"n": 16, "flag": true, "kind": "dense", "text": "7", "scale": 1e-3, "sizes": [1, 2], "seed": 1}
benchmarks:
  - {"n": 1024, "seed": 2}
  - {"n": 2048, "seed": 2}
ranking_by: geom
test_timeout: 60
)";

class ProblemSetTest : public testing::Test {
 protected:
  void write_problem(const std::string& name, std::string_view task = kTask) {
    folder_.write("problems/set/" + name + "/task.yml", task);
    folder_.write("problems/set/" + name + "/reference.py", "import shared\n");
    folder_.write("problems/set/common.py", "X = 1\n");
    folder_.write("problems/set/" + name + "/run.py", "print(1)\n");
  }
  std::vector<Board> boards() {
    auto read = read_boards(folder_ / "");
    EXPECT_TRUE(read) << read.error().message;
    return read ? std::move(*read) : std::vector<Board>{};
  }
  std::string mistake_of(const std::string& task) {
    write_problem("one", task);
    return boards().front().mistake;
  }

  TestFolder folder_;
};

TEST_F(ProblemSetTest, a_set_names_its_boards) {
  write_problem("add");
  folder_.write("problems/set.yaml",
                "name: A set\nproblems:\n  - {directory: set/add, name: Add_v2, deadline: '2100-01-01', gpus: [H100]}\n"
                "  - {directory: set/none, name: none}\n");
  const auto found = boards();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[1].mistake, HasSubstr("problems/set/none/task.yml"));
  const Board& board = found[0];
  EXPECT_EQ(board.mistake, "");
  EXPECT_EQ(board.id, 1);
  EXPECT_EQ(board.name, "Add_v2");
  EXPECT_EQ(board.deadline, "2100-01-01");
  EXPECT_EQ(board.description, "Adds.");
  EXPECT_EQ(board.ranking, Ranking::geom);
  EXPECT_EQ(board.test_s, 60u);
  EXPECT_EQ(board.ranked_s, 180u);
  ASSERT_EQ(board.files.size(), 2u) << "neither the submission nor the program that measures";
  EXPECT_EQ(board.files[1].name, "common.py");
  EXPECT_EQ(find_board(found, "add_V2"), &board);
  EXPECT_EQ(find_board(found, "add"), nullptr);
}

TEST_F(ProblemSetTest, values_of_cases_keep_their_types) {
  write_problem("add");
  EXPECT_EQ(to_text(boards()[0].tests[0]),
            R"({"n": 16, "flag": true, "kind": "dense", "text": "7", "scale": 0.001, "sizes": [1, 2], "seed": 1})");
}

TEST_F(ProblemSetTest, a_folder_that_no_set_names_is_a_board_too) {
  write_problem("b");
  write_problem("a");
  folder_.write("problems/other.yaml", "- a list\n");
  const auto found = boards();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "a");
  EXPECT_EQ(found[1].id, 2);
}

TEST_F(ProblemSetTest, only_the_last_benchmark_counts_where_the_ranking_says_so) {
  Board board{.name = "x", .benchmarks = std::vector<Json>(3)};
  EXPECT_EQ(board.timed_count(), 1u);
  board.ranking = Ranking::geom;
  EXPECT_EQ(board.timed_count(), 3u);
}

TEST_F(ProblemSetTest, mistakes_name_file_and_line) {
  EXPECT_THAT(mistake_of("lang: rust\n"), testing::Eq("problems/set/one/task.yml: lang must be py or cu"));
  EXPECT_THAT(mistake_of("lang: py\n\tx"), HasSubstr("task.yml:2: "));
  EXPECT_THAT(mistake_of("lang: py\n"), HasSubstr("files must be a list of name and source"));
  EXPECT_THAT(mistake_of("lang: py\nranking_by: best\n"),
              HasSubstr("task.yml:2: ranking_by must be last, mean or geom"));
  EXPECT_THAT(mistake_of("lang: py\ntests: [1]\n"), HasSubstr("task.yml:2: tests must be a list of maps"));
  EXPECT_THAT(mistake_of("lang: py\ntest_timeout: soon\n"), HasSubstr("test_timeout must be a number of seconds"));
  EXPECT_THAT(mistake_of("lang: py\nfiles:\n  - {name: a.py, source: a.py}\n"), HasSubstr("there is no file a.py"));
  EXPECT_THAT(mistake_of("lang: py\nfiles:\n  - {name: a/b.py, source: run.py}\n"),
              HasSubstr("a name that is no path"));
  EXPECT_THAT(mistake_of("lang: py\nfiles:\n  - {name: run.py, source: run.py}\n"),
              HasSubstr("no file has the source @SUBMISSION@"));
}

TEST_F(ProblemSetTest, a_problem_on_several_gpus_needs_as_many_as_its_largest_world) {
  const std::string files = "files:\n  - {name: submission.py, source: \"@SUBMISSION@\"}\n";
  const auto read = [&](const std::string& cases) {
    folder_.write("problems/set/one/task.yml", "lang: py\nmulti_gpu: true\n" + files + cases);
    return read_board(folder_ / "problems/set/one");
  };
  const auto board = read("tests: [{world_size: 2, seed: 1}]\nbenchmarks: [{world_size: 8, seed: 1}]\n");
  ASSERT_TRUE(board) << board.error().message;
  EXPECT_EQ(board->device_count, 8u);
  for (const char* world : {"", "world_size: 0", "world_size: 17", "world_size: two"}) {
    const auto wrong = read("tests: [{world_size: 2}, {" + std::string(world) + "}]\n");
    ASSERT_FALSE(wrong) << world;
    EXPECT_THAT(wrong.error().message,
                testing::EndsWith("task.yml: multi_gpu is true, so each test and benchmark needs "
                                  "world_size, a number of GPUs from 1 to 16"));
  }
}

TEST_F(ProblemSetTest, files_lie_inside_the_checkout) {
  TestFolder outside;
  const auto path = outside.write("secret.py", "x");
  EXPECT_THAT(mistake_of("lang: py\nfiles:\n  - {name: a.py, source: " + path.string() + "}\n"),
              HasSubstr("is outside of the checkout"));
  std::filesystem::create_directories(folder_ / "problems/set/one");
  std::filesystem::create_symlink(path, folder_ / "problems/set/one/link.py");
  EXPECT_THAT(mistake_of("lang: py\nfiles:\n  - {name: a.py, source: link.py}\n"),
              HasSubstr("is outside of the checkout"));
}

TEST_F(ProblemSetTest, a_folder_without_problems_is_a_mistake) {
  EXPECT_FALSE(ProblemSet::open(folder_ / "missing"));
  const auto empty = ProblemSet::open(folder_ / "");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(empty.error().message, HasSubstr("has no folder with a task.yml"));
}

}  // namespace
}  // namespace kq::producer::popcorn
