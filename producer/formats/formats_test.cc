#include "producer/formats/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

Found find_candidates(const std::filesystem::path& input, const InputOptions& options, const std::string& format = "") {
  return collect([&](const CandidateSink& sink) {
    const auto known = kq::producer::find_candidates(input, format, options, sink);
    if (!known) sink.mistake(known.error().message);
  });
}

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Writes an input of the format with this name, and returns its path.
std::filesystem::path example_of(std::string_view format, const TestFolder& folder) {
  folder.write("problem.py", kTestProblem);
  folder.write("level1/1_a.py", kTestProblem);
  const auto kernel = folder.write("kernel.py", kTestKernel);
  if (format == "single_file") return kernel;
  if (format == "jsonl")
    return folder.write("in/submissions.jsonl", R"({"problem": "../problem.py", "path": "../kernel.py"})")
        .parent_path();
  if (format == "kernelbench_run")
    return folder.write("run/level_1_problem_1_sample_0_kernel.py", kTestKernel).parent_path();
  if (format == "kernelbench_problems") return folder / "level1";
  if (format == "kernels") return folder.write("k/kernel.py", kTestKernel).parent_path();
  if (format == "backendbench") {
    folder.write("ops.txt", "Operator: aten.relu.default\ncnt: 1, ((T([2], f32),), {})\n");
    return folder.write("ops/relu__default/relu__default_implementation.py", kTestKernel).parent_path().parent_path();
  }
  if (format == "popcorn") {
    folder.write("set/add/reference.py", "X = 1\n");
    folder.write("set/add/submission.py", std::string(kTestKernel));
    return folder
        .write("set/add/task.yml",
               "lang: py\nfiles:\n  - {name: submission.py, source: '@SUBMISSION@'}\n"
               "  - {name: reference.py, source: reference.py}\nbenchmarks: [{n: 1, seed: 1}]\n")
        .parent_path();
  }
  if (format == "flashinfer") {
    folder.write("p/definition.json", R"({"name": "a", "axes": {}, "inputs": {}, "outputs": {}, "reference": "x"})");
    folder.write("p/workload.jsonl", R"({"uuid": "a", "axes": {}, "inputs": {}})");
    return folder
        .write("p/solution.json",
               R"({"name": "b", "definition": "a", "spec": {"entry_point": "k.py::run"},
                   "sources": [{"path": "k.py", "content": "x"}]})")
        .parent_path();
  }
  ADD_FAILURE() << "the test knows no example of " << format;
  return {};
}

TEST(Formats, each_recognises_its_own_example_only_and_reads_it) {
  for (const Format& format : formats()) {
    TestFolder folder;
    const auto input = example_of(format.name, folder);
    for (const Format& other : formats()) {  // no earlier format of the table may recognise the input
      if (&other == &format) break;
      EXPECT_EQ(other.recognise(input), "") << other.name;
    }
    EXPECT_NE(format.recognise(input), "");
    InputOptions options;
    if (format.name == "single_file" || format.name == "kernels") options.problem = folder / "problem.py";
    if (format.name == "backendbench") options.suite = {.suite = Suite::torchbench, .trace = folder / "ops.txt"};
    options.backend = Backend::triton;
    options.device = DeviceWish::cpu;
    options.gpu_model = "NVIDIA H200";
    options.precision = Precision::bf16;
    options.baseline = Baseline::compile;
    options.profile = Profiler::ncu;
    options.streams = Streams::joined;
    options.graphs = Graphs::allow;
    options.need_extensions = true;
    options.no_truth = true;
    options.truth_rms = 3;
    options.truth_max = 5;
    options.allow_precision = AllowedPrecision::fp16;
    const Found found = find_candidates(input, options);
    EXPECT_THAT(found.mistakes, IsEmpty()) << format.name;
    ASSERT_EQ(found.candidates.size(), 1u) << format.name;
    const Candidate& candidate = found.candidates[0];
    EXPECT_EQ(candidate.backend, Backend::triton);
    EXPECT_EQ(candidate.device, DeviceWish::cpu);
    EXPECT_EQ(candidate.gpu_model, "NVIDIA H200");
    EXPECT_EQ(candidate.precision, Precision::bf16);
    EXPECT_EQ(candidate.trials.baseline, Baseline::compile);
    EXPECT_EQ(candidate.trials.profile, Profiler::ncu);
    EXPECT_EQ(candidate.trials.streams, Streams::joined);
    EXPECT_EQ(candidate.trials.graphs, Graphs::allow);
    EXPECT_TRUE(candidate.trials.need_extensions);
    EXPECT_EQ(candidate.truth, (TruthRule{false, 3, 5, AllowedPrecision::fp16}));
    EXPECT_FALSE(candidate.where.empty());
    EXPECT_FALSE(candidate.label.empty());
    EXPECT_FALSE(candidate.problem_name.empty());
  }
}

TEST(Formats, an_empty_directory_is_a_mistake_that_says_what_is_known) {
  TestFolder folder;
  const Found found = find_candidates(folder / "", {});
  EXPECT_THAT(
      found.mistakes,
      ElementsAre(HasSubstr(" holds no submissions: neither in it nor below it is a .py, .cu, .ptx or .cubin file "
                            "or a submissions.jsonl")));
}

TEST(Formats, a_format_can_be_named) {
  TestFolder folder;
  folder.write("problem.py", kTestProblem);
  folder.write("kernel.py", kTestKernel);
  const auto file = folder.write("jobs.txt", R"({"problem": "problem.py", "path": "kernel.py"})");
  EXPECT_EQ(find_candidates(file, {}, "jsonl").candidates.size(), 1u);
  EXPECT_THAT(find_candidates(file, {}, "csv").mistakes,
              ElementsAre(HasSubstr("--input-format must be one of jsonl, kernelbench_run")));
}

TEST(Formats, a_file_that_is_no_kernel_is_a_mistake) {
  TestFolder folder;
  EXPECT_THAT(find_candidates(folder.write("notes.txt", "x"), {}).mistakes,
              ElementsAre(HasSubstr("notes.txt is no kernel; known are: ")));
  EXPECT_THAT(find_candidates("gone.py", {}).mistakes, ElementsAre("gone.py: No such file or directory"));
}

}  // namespace
}  // namespace kq::producer
