#include "producer/formats/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Found read(const std::filesystem::path& input, const InputOptions& options) {
  return collect([&](const CandidateSink& sink) { read_kernels(input, options, sink); });
}

TEST(kernels, each_file_is_a_submission_in_the_order_of_their_names) {
  TestFolder folder;
  folder.write("problem.py", kTestProblem);
  folder.write("k/b.py", kTestKernel);
  folder.write("k/a.py", kTestKernel);
  folder.write("k/notes.txt", "x");
  EXPECT_EQ(recognise_kernels(folder / "k"), "it holds a.py");
  InputOptions options;
  options.problem = folder / "problem.py";
  const Found found = read(folder / "k", options);
  EXPECT_THAT(found.mistakes, IsEmpty());
  ASSERT_EQ(found.candidates.size(), 2u);
  EXPECT_EQ(found.candidates[0].label, "a");
  EXPECT_EQ(found.candidates[1].label, "b");
}

TEST(kernels, a_path_with_the_name_of_a_kernel_that_cannot_be_read_is_a_mistake) {
  TestFolder folder;
  folder.write("problem.py", kTestProblem);
  folder.write("k/a.py", kTestKernel);
  folder.write("k/library.py/x.txt", "x");
  std::filesystem::create_symlink("gone.py", folder / "k/gone_away.py");
  std::filesystem::create_symlink("me@host.12", folder / "k/.#a.py");  // an editor has a.py open
  ASSERT_EQ(mkfifo((folder / "k/pipe.cu").c_str(), 0600), 0);
  InputOptions options;
  options.problem = folder / "problem.py";
  const Found found = read(folder / "k", options);
  EXPECT_EQ(found.candidates.size(), 1u);
  EXPECT_THAT(found.mistakes, ElementsAre((folder / "k/gone_away.py").string() + ": No such file or directory",
                                          (folder / "k/pipe.cu").string() + " is no regular file"));
}

TEST(kernels, each_may_name_a_problem_of_its_own) {
  TestFolder folder;
  folder.write("k/p/relu.py", kTestProblem);
  folder.write("k/a.py", "# kq: problem=p/relu.py\n" + std::string(kTestKernel));
  folder.write("k/b.py", kTestKernel);
  const Found found = read(folder / "k", {});
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].problem_name, "relu");
  EXPECT_THAT(found.mistakes, ElementsAre(HasSubstr("b.py: which problem does it solve?")));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("k: 1 file is a problem and no kernel: ")));
}

TEST(kernels, a_folder_is_searched_to_the_bottom) {
  TestFolder folder;
  folder.write("problem.py", kTestProblem);
  for (const char* name : {"k/z.py", "k/gelu/anna.py", "k/gelu/deep/anna.py", "k/matmul/anna.py"})
    folder.write(name, kTestKernel);
  for (const char* name : {"k/.hidden.py", "k/.git/a.py", "k/__pycache__/a.py"}) folder.write(name, kTestKernel);
  std::filesystem::create_directory_symlink(folder / "k", folder / "k/gelu/loop");
  InputOptions options;
  options.problem = folder / "problem.py";
  options.label_root = folder / "k";
  std::vector<std::string> labels;
  for (const Candidate& candidate : read(folder / "k", options).candidates) labels.push_back(candidate.label);
  EXPECT_THAT(labels, ElementsAre("z", "gelu/anna", "gelu/deep/anna", "matmul/anna"));
  std::filesystem::remove(folder / "k/z.py");
  EXPECT_EQ(recognise_kernels(folder / "k"), "it holds gelu/anna.py");
  EXPECT_EQ(recognise_kernels(folder / "k/__pycache__/none"), "");
}

TEST(kernels, a_folder_below_that_is_of_another_format_is_read_by_it) {
  TestFolder folder;
  folder.write("k/a.py", "# kq: problem=../problem.py\n" + std::string(kTestKernel));
  folder.write("problem.py", kTestProblem);
  folder.write("k/more/b.py", kTestKernel);
  folder.write("k/more/submissions.jsonl", R"({"id": "b", "problem": "../../problem.py", "path": "b.py"})");
  const Found found = read(folder / "k", {});
  EXPECT_THAT(found.mistakes, IsEmpty());
  ASSERT_EQ(found.candidates.size(), 2u);
  EXPECT_EQ(found.candidates[1].label, "b");
}

TEST(kernels, a_name_in_capitals_is_passed_over_with_a_note) {
  TestFolder folder;
  folder.write("problem.py", kTestProblem);
  for (const char* name : {"k/a.py", "k/below/B.PY", "k/README"}) folder.write(name, kTestKernel);
  InputOptions options;
  options.problem = folder / "problem.py";
  const Found found = read(folder / "k", options);
  EXPECT_EQ(found.candidates.size(), 1u);
  EXPECT_THAT(found.notes,
              ElementsAre(HasSubstr("1 file is passed over, because endings are written in small letters")));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("k/below/B.PY")));
}

TEST(kernels, the_problem_itself_is_no_kernel) {
  TestFolder folder;
  folder.write("k/problem.py", kTestProblem);
  folder.write("k/a.py", kTestKernel);
  InputOptions options;
  options.problem = folder / "k/problem.py";
  const Found found = read(folder / "k", options);
  EXPECT_THAT(found.mistakes, IsEmpty());
  EXPECT_EQ(found.candidates.size(), 1u);
}

TEST(kernels, other_problems_are_left_out_with_one_note_also_with_a_problem) {
  TestFolder folder;
  folder.write("k/relu.py", kTestProblem);
  folder.write("k/softmax.py", "# another\n" + std::string(kTestProblem));
  folder.write("k/own.py", "# kq: problem=relu.py\n" + std::string(kTestProblem));
  folder.write("k/called.py", kTestProblem);
  folder.write("k/called.json", R"({"class_name": "Model"})");
  folder.write("k/a.py", kTestKernel);
  InputOptions options;
  options.problem = folder / "k/relu.py";
  const Found found = read(folder / "k", options);
  EXPECT_THAT(found.mistakes, IsEmpty());
  std::vector<std::string> labels;
  for (const Candidate& candidate : found.candidates) labels.push_back(candidate.label);
  EXPECT_THAT(labels, ElementsAre("a", "called", "own"));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("2 files are problems and no kernels, such as ")));
}

TEST(kernels, the_init_file_of_a_package_is_no_kernel_unless_it_defines_one) {
  TestFolder folder;
  folder.write("problem.py", kTestProblem);
  InputOptions options;
  options.problem = folder / "problem.py";
  folder.write("k/__init__.py", "");
  folder.write("k/more/__init__.py", "\"\"\"Words.\"\"\"\nfrom .a import *\n__all__ = ['a']\n");
  EXPECT_EQ(recognise_kernels(folder / "k"), "");
  folder.write("k/more/a.py", kTestKernel);
  Found found = read(folder / "k", options);
  EXPECT_THAT(found.mistakes, IsEmpty());
  ASSERT_EQ(found.candidates.size(), 1u);
  EXPECT_EQ(found.candidates[0].label, "a");
  folder.write("k/__init__.py", kTestKernel);
  found = read(folder / "k", options);
  ASSERT_EQ(found.candidates.size(), 2u);
  EXPECT_EQ(found.candidates[0].label, "__init__");
}

}  // namespace
}  // namespace kq::producer
