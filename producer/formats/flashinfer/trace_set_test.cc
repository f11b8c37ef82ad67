#include "producer/formats/flashinfer/trace_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer::flashinfer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kDefinition = R"({"name": "scale", "axes": {"n": {"type": "var"}},
"inputs": {"x": {"shape": ["n"], "dtype": "float32"}}, "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
"reference": "def run(x):\n    return x * 2\n"})";
constexpr const char* kWorkload = R"({"uuid": "a", "axes": {"n": 4}, "inputs": {"x": {"type": "random"}}})";

std::string solution(const std::string& name, const std::string& definition = "scale") {
  return R"({"name": ")" + name + R"(", "definition": ")" + definition +
         R"(", "spec": {"entry_point": "k.py::run"}, "sources": [{"path": "k.py", "content": "x = 1\n"}]})";
}

Found read(const std::filesystem::path& input) {
  return collect([&](const CandidateSink& sink) { read_trace_set(input, {}, sink); });
}

TEST(trace_set, a_problems_folder_has_a_job_for_each_solution) {
  TestFolder folder;
  folder.write("p/definition.json", kDefinition);
  folder.write("p/workload.jsonl", std::string(kWorkload) + "\n");
  folder.write("p/solution_a.json", solution("a"));
  folder.write("p/solution_b.json", solution("b"));
  folder.write("p/other.json", "{}");
  EXPECT_EQ(recognise_trace_set(folder / "p"), "it holds definition.json and workload.jsonl");
  for (const auto& input : {folder / "p", folder / "p/"}) {
    const Found found = read(input);
    EXPECT_THAT(found.mistakes, IsEmpty());
    ASSERT_EQ(found.candidates.size(), 2u);
    EXPECT_EQ(found.candidates[0].label, "scale/a");
    EXPECT_EQ(found.candidates[1].label, "scale/b");
    EXPECT_EQ(found.candidates[0].problem.name, "definition.py");
  }
}

TEST(trace_set, definitions_workloads_and_solutions_may_lie_in_any_folders) {
  TestFolder folder;
  folder.write("set/definitions/op/scale.json", kDefinition);
  folder.write("set/workloads/op/scale.jsonl",
               R"({"definition": "scale", "workload": )" + std::string(kWorkload) + "}\n");
  folder.write("set/solutions/ada/op/scale/mine.json", solution("mine"));
  EXPECT_EQ(recognise_trace_set(folder / "set"), "it holds the folders definitions and solutions");
  const Found found = read(folder / "set");
  EXPECT_THAT(found.mistakes, IsEmpty());
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].problem_name, "scale");
}

TEST(trace_set, a_wrong_file_is_named_and_the_others_go_on) {
  TestFolder folder;
  folder.write("set/definitions/scale.json", kDefinition);
  folder.write("set/definitions/none.json", R"({"name": "none"})");
  folder.write("set/workloads/scale.jsonl", kWorkload);
  folder.write("set/solutions/a.json", solution("a"));
  folder.write("set/solutions/b.json", solution("b", "none"));
  folder.write("set/solutions/c.json", "{");
  const Found found = read(folder / "set");
  EXPECT_EQ(found.candidates.size(), 1u);
  ASSERT_EQ(found.mistakes.size(), 3u);
  EXPECT_EQ(found.mistakes[0], (folder / "set/definitions/none.json").string() + ": there are no workloads none.jsonl");
  EXPECT_EQ(found.mistakes[1],
            (folder / "set/solutions/b.json").string() + ": there is no definition 'none' that can run");
  EXPECT_TRUE(found.mistakes[2].starts_with((folder / "set/solutions/c.json").string() + ": "));
}

}  // namespace
}  // namespace kq::producer::flashinfer
