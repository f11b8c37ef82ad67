#include "producer/formats/single_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/recognise.h"
#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Found read(const std::filesystem::path& input, const InputOptions& options) {
  return collect([&](const CandidateSink& sink) { read_single_file(input, options, sink); });
}

class SingleFile : public testing::Test {
 protected:
  void SetUp() override { options_.problem = folder_.write("scale_problem.py", kTestProblem); }
  TestFolder folder_;
  InputOptions options_;
};

TEST_F(SingleFile, is_a_kernel_with_the_problem_named_beside_it) {
  const auto file = folder_.write("add.py", kTestKernel);
  EXPECT_EQ(recognise_single_file(file), "its name ends in .py");
  EXPECT_EQ(recognise_single_file(folder_.write("add.txt", "")), "");
  const Found found = read(file, options_);
  ASSERT_EQ(found.candidates.size(), 1u);
  const Candidate& candidate = found.candidates[0];
  EXPECT_EQ(candidate.label, "add");
  EXPECT_EQ(candidate.files.size(), 1u);
  EXPECT_EQ(candidate.problem_name, "scale_problem");
  EXPECT_EQ(candidate.problem.name, "scale_problem.py");
  EXPECT_EQ(candidate.backend, std::nullopt);
}

TEST_F(SingleFile, a_cu_file_takes_its_contract_with_it) {
  const Found found = read(folder_.write("scale.cu", "x"), options_);
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].files[0].name, "scale.cu");
  EXPECT_EQ(found.candidates[0].files[1].name, "scale.json");
}

TEST_F(SingleFile, a_py_file_includes_its_json_where_that_is_a_contract) {
  const auto file = folder_.write("add.py", kTestKernel);
  folder_.write("add.json", R"({"figures": []})");
  EXPECT_EQ(source_files(file).size(), 1u);
  folder_.write("add.json", R"({"function_name": "add"})");
  ASSERT_EQ(source_files(file).size(), 2u);
  EXPECT_EQ(source_files(file)[1].name, "add.json");
}

TEST_F(SingleFile, needs_a_problem) {
  const auto file = folder_.write("add.py", kTestKernel);
  EXPECT_THAT(
      read(file, {}).mistakes,
      ElementsAre(file.string() +
                  ": which problem does it solve? say --problem FILE, or kq: problem=FILE in a comment at its head; or "
                  "with --problems DIR name the kernel or its folder after a problem there"));
  EXPECT_THAT(read(folder_.write("sort.py", "#!POPCORN leaderboard sort_v2\n" + std::string(kTestKernel)), {}).mistakes,
              ElementsAre(HasSubstr("its line '#!POPCORN leaderboard sort_v2' names one of GPU MODE's form, which is "
                                    "found in the folder of --problems DIR")));
  options_.problem = "gone.py";
  EXPECT_THAT(
      read(file, options_).mistakes,
      ElementsAre("--problem 'gone.py' is no file; give its path, or the folder that has it with --problems DIR"));
}

TEST_F(SingleFile, the_problem_may_be_told_by_the_name_of_the_kernel_or_of_a_folder) {
  folder_.write("probs/relu.py", kTestProblem);
  folder_.write("probs/gelu.py", kTestProblem);
  folder_.write("probs/level1/19_ReLU.py", kTestProblem);
  options_ = {};
  options_.problems = folder_ / "probs";
  const std::pair<const char*, const char*> cases[] = {{"gen/relu.py", "relu"},
                                                       {"gen/relu/anna.py", "relu"},
                                                       {"gen/gelu/gpt/relu_like.py", "gelu"},
                                                       {"gen/gelu/relu/anna.py", "relu"},
                                                       {"gen/level1/19_ReLU/anna.py", "level1/19_ReLU"},
                                                       {"gen/level1/19_ReLU.py", "level1/19_ReLU"}};
  for (const auto& [path, problem] : cases) {
    const Found found = read(folder_.write(path, kTestKernel), options_);
    EXPECT_THAT(found.mistakes, testing::IsEmpty()) << path;
    ASSERT_EQ(found.candidates.size(), 1u) << path;
    EXPECT_EQ(found.candidates[0].problem_name, problem) << path;
  }
  EXPECT_EQ(read(folder_.write("gen/other/anna.py", kTestKernel), options_).mistakes.size(), 1u);
  EXPECT_EQ(read(folder_ / "gen/relu.py", {}).mistakes.size(), 1u) << "without --problems";
}

TEST_F(SingleFile, a_sample_of_a_kernelbench_run_is_what_the_run_would_have_made_of_it) {
  folder_.write("level1/3_add.py", kTestProblem);
  const auto file = folder_.write("runs/mine/level_1_problem_3_sample_1_kernel.py", kTestKernel);
  options_.problem = "level1/3";
  options_.problems = folder_ / "";
  for (const bool is_named : {true, false}) {
    if (!is_named) options_ = {};
    const Found found = read(file, options_);
    EXPECT_THAT(found.mistakes, testing::IsEmpty());
    ASSERT_EQ(found.candidates.size(), 1u);
    EXPECT_EQ(found.candidates[0].label, "level_1_problem_3_sample_1");
    EXPECT_THAT(found.candidates[0].tags,
                ElementsAre(Pair("level", "1"), Pair("problem_id", "3"), Pair("sample_id", "1")));
    EXPECT_EQ(found.candidates[0].problem_name, "level1/3_add");
  }
}

TEST_F(SingleFile, a_sample_whose_problem_is_nowhere_or_another_is_a_mistake) {
  folder_.write("level1/4_mul.py", kTestProblem);
  const auto file = folder_.write("runs/mine/level_1_problem_3_sample_1_kernel.py", kTestKernel);
  EXPECT_THAT(
      read(file, {}).mistakes,
      ElementsAre(file.string() + ": no file level1/3_*.py in the problems; say where they are with --problems DIR"));
  options_.problem = "level1/4";
  options_.problems = folder_ / "";
  EXPECT_THAT(read(file, options_).mistakes,
              ElementsAre(file.string() + ": by its name it solves level1/3, not level1/4_mul; give it another name"));
}

TEST_F(SingleFile, an_extension_of_torch_has_an_entry_that_builds_it) {
  const std::string text = "#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n";
  const auto file = folder_.write("mine.cu", text);
  const auto names = [](const std::vector<FileRef>& files) {
    std::vector<std::string> found;
    for (const FileRef& ref : files) found.push_back(ref.name);
    return found;
  };
  const auto files = source_files(file);
  EXPECT_THAT(names(files), ElementsAre("mine.py", "mine.cu"));
  EXPECT_EQ(recognise_backend("mine.py", *files[0].text), Backend::torch_cuda);
  EXPECT_THAT(names(source_files(file, "submission.cu")), ElementsAre("submission.py", "submission.cu"));
  folder_.write("mine.json", "{}");
  EXPECT_THAT(names(source_files(file)), ElementsAre("mine.cu", "mine.json"));
  const auto mention = folder_.write("plain.cu", "// PYBIND11_MODULE\n__global__ void k() {}\n");
  EXPECT_THAT(names(source_files(mention)), ElementsAre("plain.cu", "plain.json"));
}

TEST_F(SingleFile, a_file_that_cannot_be_opened_is_a_mistake) {
  const auto file = folder_.write("loop.py", "");
  std::filesystem::remove(file);
  std::filesystem::create_symlink("loop.py", file);  // not even root can open it
  EXPECT_THAT(read(file, {}).mistakes, ElementsAre(file.string() + ": Too many levels of symbolic links"));
}

TEST_F(SingleFile, its_head_may_say_what_it_is_and_flags_win) {
  folder_.write("p/relu.py", kTestProblem);
  const auto file =
      folder_.write("add.py", "# kq: problem=p/relu.py precision=fp16\n# kq: id=mine\n" + std::string(kTestKernel));
  const Found found = read(file, {});
  EXPECT_THAT(found.mistakes, testing::IsEmpty());
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].problem_name, "relu");
  EXPECT_EQ(found.candidates[0].precision, Precision::fp16);
  EXPECT_EQ(found.candidates[0].label, "mine");
  EXPECT_EQ(found.candidates[0].header_settings.at(1), "precision=fp16 (" + file.string() + ":1)");
  EXPECT_EQ(read(file, options_).candidates.at(0).problem.path, *options_.problem);
}

TEST_F(SingleFile, a_wrong_head_is_a_mistake_with_its_line) {
  folder_.write("relu.py", kTestProblem);
  const auto file = folder_.write("add.py", "# kq: problem=relu.py\n# kq: speed=1 rtol=0.5 timed=-1\n");
  const Found found = read(file, {});
  EXPECT_THAT(found.candidates, testing::IsEmpty());
  EXPECT_THAT(found.mistakes,
              testing::ElementsAre(testing::HasSubstr("add.py:2: kq: there is no setting 'speed'; known are"),
                                   testing::HasSubstr("add.py:2: kq: rtol is not for a kernel to say"),
                                   testing::HasSubstr("add.py:2: kq: timed must be an integer from 0")));
}

TEST_F(SingleFile, a_kernel_from_standard_input_has_a_stable_name) {
  options_.input_name = "standard input";
  const Found found = read(folder_.write("kq-stdin.x1.py", kTestKernel), options_);
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].files[0].name, "submission.py");
  EXPECT_EQ(found.candidates[0].where, "standard input");
  EXPECT_THAT(found.candidates[0].label, testing::MatchesRegex("stdin-[0-9a-f]{8}"));
  EXPECT_EQ(read(folder_.write("kq-stdin.x2.py", kTestKernel), options_).candidates[0].label,
            found.candidates[0].label);
  EXPECT_NE(read(folder_.write("kq-stdin.x3.py", std::string(kTestKernel) + "\n"), options_).candidates[0].label,
            found.candidates[0].label);
}

}  // namespace
}  // namespace kq::producer
