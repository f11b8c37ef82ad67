#include "producer/formats/backendbench/kernel_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer::backendbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kKernel = "def relu__default_kernel_impl(x):\n    return x.clamp(min=0)\n";

Found read(const std::filesystem::path& input, const InputOptions& options) {
  return collect([&](const CandidateSink& sink) { read_kernel_folder(input, options, sink); });
}

TEST(kernel_folder, each_call_of_the_suite_is_a_job_of_the_highest_version) {
  TestFolder folder;
  for (const char* version : {"", "_v2", "_v10"})
    folder.write("k/relu__default/relu__default_implementation" + std::string(version) + ".py", kKernel);
  folder.write("k/relu__default/notes.py", "");
  folder.write("k/llm_run/README.md", "");
  EXPECT_EQ(recognise_kernel_folder(folder / "k"), "it holds relu__default/relu__default_implementation_v10.py");
  const Found found = read(folder / "k", {});
  EXPECT_THAT(found.mistakes, IsEmpty());
  ASSERT_EQ(found.candidates.size(), 2u);
  const Candidate& first = found.candidates.front();
  EXPECT_THAT(first.label, HasSubstr("relu.default/"));
  EXPECT_NE(first.label, found.candidates.back().label);
  EXPECT_EQ(first.files[0].name, "relu__default_implementation_v10.py");
  EXPECT_EQ(first.files[1].name, "relu__default_implementation_v10.json");
  EXPECT_EQ(first.files[1].text, R"({"function_name": "relu__default_kernel_impl", "takes_named": true})");
  EXPECT_EQ(first.tags, (std::map<std::string, std::string>{{"args", "((T([2], f32),), {})"},
                                                            {"op", "relu.default"},
                                                            {"suite", "smoke"},
                                                            {"test", "correctness"},
                                                            {"version", "10"}}));
  EXPECT_EQ(first.trials.timed, 0u);
  EXPECT_GT(found.candidates.back().trials.timed, 0u);
  EXPECT_TRUE(first.problem.text->starts_with(
      R"(CALL = "{\"op\": \"relu.default\", \"positional\": [{\"tensor\": [2], \"dtype\": \"float32\"}], )"
      R"(\"named\": {}, \"strict\": false}")"
      "\n"));

  InputOptions options;
  options.suite.first_version = options.suite.strict = true;
  const Found strict = read(folder / "k", options);
  EXPECT_EQ(strict.candidates.front().files[0].name, "relu__default_implementation.py");
  EXPECT_FALSE(strict.candidates.front().truth.is_used);
}

TEST(kernel_folder, operators_without_kernels_or_calls_are_named) {
  TestFolder folder;
  folder.write("k/add__Tensor/add__Tensor_implementation.py", "x = 1\n");
  const Found found = read(folder / "k", {});
  EXPECT_THAT(found.candidates, IsEmpty());
  EXPECT_THAT(found.notes,
              ElementsAre("suite smoke has no call of add.Tensor, so these kernels are not judged",
                          (folder / "k").string() + " has no kernel for relu.default, which suite smoke calls"));
}

TEST(kernel_folder, long_arguments_are_split_among_tags) {
  TestFolder folder;
  folder.write("k/cat__default/cat__default_implementation_v1.py", "x = 1\n");
  std::string tensors;
  for (int i = 0; i < 20; ++i) tensors += "T([16, 16, 16], f32), ";
  const std::string args = "(([" + tensors + "], 1), {})";
  folder.write("ops.txt", "Operator: aten.cat.default\ncnt: 1, " + args + "\n");
  InputOptions options;
  options.suite = {.suite = Suite::torchbench, .trace = folder / "ops.txt"};
  const Found found = read(folder / "k", options);
  ASSERT_EQ(found.candidates.size(), 1u);
  const auto& tags = found.candidates.front().tags;
  EXPECT_EQ(tags.at("args") + tags.at("args_1") + tags.at("args_2"), args);
}

TEST(kernel_folder, other_folders_are_not_of_this_format) {
  TestFolder folder;
  folder.write("k/a.py", "");
  folder.write("k/relu/relu_implementation.py", "");
  EXPECT_EQ(recognise_kernel_folder(folder / "k"), "");
  EXPECT_EQ(recognise_kernel_folder(folder / "k/a.py"), "");
}

}  // namespace
}  // namespace kq::producer::backendbench
