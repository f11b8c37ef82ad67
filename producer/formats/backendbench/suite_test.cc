#include "producer/formats/backendbench/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer::backendbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kTrace = R"(# a comment
Operator: aten.add.Tensor
cnt: 3, ((T([2], f32), T([2], f32)), {})
cnt: 0, ((T([64, 64], f32), T([64, 64], f32)), {'alpha': 2})
cnt: 1, ((T([2], f32), T([2], f32)), {})
  cnt: 1, ((indented lines say nothing
Operator: aten.sum.SymInt
cnt: 1, ((T([8], f16), [0]), {})
Operator: aten.addmm.default
cnt: 1, ((T([8], f16), T([8, 8], f16), T([8, 8], f16)), {})
)";

struct Calls {
  std::vector<std::string> texts, mistakes;
};
Calls calls(SuiteOptions options) {
  Calls found;
  const auto calls = calls_of(options, [&](const std::string& sentence) { found.mistakes.push_back(sentence); });
  if (!calls) found.mistakes.push_back(calls.error().message);
  for (const Call& call : calls.value_or(std::vector<Call>()))
    found.texts.push_back(call.op + " " + call.args + (call.is_timed ? " timed" : ""));
  return found;
}

TEST(suite, smoke_needs_no_file) {
  EXPECT_THAT(calls({}).texts,
              ElementsAre("relu.default ((T([2], f32),), {})", "relu.default ((T([1024, 1024], f32),), {}) timed"));
  EXPECT_THAT(calls({.ops = {"add"}}).texts, IsEmpty());
}

TEST(suite, torchbench_has_each_call_once_and_the_largest_first) {
  TestFolder folder;
  folder.write("ops.txt", kTrace);
  const Calls all = calls({.suite = Suite::torchbench, .trace = folder / "ops.txt"});
  EXPECT_THAT(all.mistakes, IsEmpty());
  EXPECT_THAT(all.texts, ElementsAre("add.Tensor ((T([64, 64], f32), T([64, 64], f32)), {'alpha': 2}) timed",
                                     "add.Tensor ((T([2], f32), T([2], f32)), {}) timed",
                                     "addmm.default ((T([8], f16), T([8, 8], f16), T([8, 8], f16)), {}) timed",
                                     "sum.dim_IntList ((T([8], f16), [0]), {}) timed"));
  EXPECT_EQ(calls({.suite = Suite::torchbench, .trace = folder / "ops.txt", .largest = 1}).texts.size(), 3u);
  EXPECT_EQ(calls({.suite = Suite::torchbench, .trace = folder / "ops.txt", .ops = {"add"}}).texts.size(), 3u);
}

TEST(suite, opinfo_takes_whole_names_and_times_nothing) {
  TestFolder folder;
  folder.write("ops.txt", kTrace);
  EXPECT_THAT(calls({.suite = Suite::opinfo, .trace = folder / "ops.txt", .ops = {"add"}}).texts,
              ElementsAre("add.Tensor ((T([2], f32), T([2], f32)), {})",
                          "add.Tensor ((T([64, 64], f32), T([64, 64], f32)), {'alpha': 2})"));
  EXPECT_EQ(calls({.suite = Suite::opinfo, .trace = folder / "ops.txt", .ops = {"add.Tensor"}}).texts.size(), 2u);
}

TEST(suite, reads_json_lines) {
  TestFolder folder;
  folder.write("ops.jsonl",
               "{\"op_name\": \"aten.relu.default\", \"args\": \"((T([2], f32),), {})\", \"count\": 3}\n"
               "{\"op_name\": \"aten.relu.default\", \"args\": \"((T([3], f32),), {})\", "
               "\"included_in_benchmark\": false}\n\n"
               "{\"op_name\": \"aten.relu.default\", \"args\": \"((T([4], f32),), {})\", "
               "\"included_in_benchmark\": true}\n");
  EXPECT_THAT(calls({.suite = Suite::torchbench, .trace = folder / "ops.jsonl"}).mistakes, IsEmpty());
  EXPECT_THAT(calls({.suite = Suite::torchbench, .trace = folder / "ops.jsonl"}).texts,
              ElementsAre("relu.default ((T([4], f32),), {}) timed", "relu.default ((T([2], f32),), {}) timed"));
}

TEST(suite, a_wrong_line_is_one_sentence_with_its_place) {
  TestFolder folder;
  folder.write("ops.txt",
               "cnt: 1, ((), {})\nOperator: a b\ncnt: 1, ((), {})\nOperator: aten.relu.default\ncnt: 1, (x)\n");
  const std::string path = (folder / "ops.txt").string();
  EXPECT_THAT(
      calls({.suite = Suite::torchbench, .trace = folder / "ops.txt"}).mistakes,
      ElementsAre(
          path + ":1: a call stands before the first line 'Operator: NAME'",
          path + ":2: 'a b' is no name of an operator, such as aten.add.Tensor",
          path + ":5: args: column 2: 'x' is no value; expected T(...), a dtype such as f32, torch.NAME, a number"));
  EXPECT_THAT(calls({.suite = Suite::opinfo}).mistakes,
              ElementsAre("--suite opinfo needs --trace FILE, a trace or JSON Lines with the calls"));
  EXPECT_THAT(calls({.suite = Suite::opinfo, .trace = "ops.parquet"}).mistakes,
              ElementsAre("ops.parquet: expected a trace, NAME.txt, or JSON Lines, NAME.jsonl"));
  EXPECT_THAT(calls({.suite = Suite::opinfo, .trace = folder / "gone.txt"}).mistakes,
              ElementsAre((folder / "gone.txt").string() + ": No such file or directory"));
}

}  // namespace
}  // namespace kq::producer::backendbench
