#include "producer/formats/problem_folder.h"

#include <gtest/gtest.h>

#include "producer/formats/file_ref.h"
#include "producer/formats/problems.h"
#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

class ProblemFolder : public testing::Test {
 protected:
  TestFolder folder_;

  Expected<std::string> text_of(std::string_view name, std::string_view text) {
    folder_.write(name, text);
    const auto problem = find_problem(std::string(name), folder_ / "", std::nullopt);
    if (!problem) return failure(problem.error());
    return contents(problem->file);
  }
};

TEST_F(ProblemFolder, a_problem_that_reads_no_file_stays_as_it_is) {
  folder_.write("other.json", "{}");
  const std::string text = "open('absent.json')\n" + std::string(kTestProblem);
  EXPECT_EQ(*text_of("add.py", text), text);
}

TEST_F(ProblemFolder, a_data_file_that_the_text_names_follows_at_the_end) {
  folder_.write("10_norm.json", "{\"x\": \"\xc3\xa9\"}\n");
  const std::string text = "path = \"10_norm.json\"\n" + std::string(kTestProblem);
  EXPECT_EQ(*text_of("10_norm.py", text),
            text + "\n\nFILES = {\n    \"10_norm.json\": \"{\\\"x\\\": \\\"\xc3\xa9\\\"}\\n\",\n}\n");
}

TEST_F(ProblemFolder, shapes_beside_a_reference_are_its_workloads) {
  folder_.write("shapes.py", "SHAPES = [{\"n\": 4}]\n");
  folder_.write("problem.yaml",
                "name: x\ntolerance:\n  float32: 1.0e-4\n  fp8_e4m3fn: 0.2\nforbidden:\n  - \"Tensor.topk\"\n  - "
                "\"import fla\"\n");
  const std::string text = *text_of("reference.py", kTestProblem);
  EXPECT_NE(text.find("\"shapes.py\": \"SHAPES = [{\\\"n\\\": 4}]\\n\""), std::string::npos) << text;
  EXPECT_NE(text.find("from shapes import SHAPES as WORKLOADS\n"), std::string::npos);
  EXPECT_NE(text.find("TOLERANCE = {\"float32\": {\"rtol\": 0.0001, \"atol\": 0.0001}, "
                      "\"float8_e4m3fn\": {\"rtol\": 0.2, \"atol\": 0.2}, }\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("FORBIDDEN = [\"Tensor.topk\", \"fla\", ]\n"), std::string::npos) << text;
}

TEST_F(ProblemFolder, what_is_unfit_is_told_with_its_path) {
  folder_.write("latin.txt", "\xe9");
  EXPECT_EQ(text_of("add.py", "open('latin.txt')\n").error().message,
            (folder_ / "latin.txt").string() + " is not UTF-8 text, which a file beside a problem must be");
  folder_.write("shapes.py", "SHAPES = []\n");
  folder_.write("problem.yaml", "tolerance:\n  float32: narrow\n");
  EXPECT_TRUE(
      text_of("reference.py", kTestProblem)
          .error()
          .message.starts_with((folder_ / "problem.yaml").string() + ":2: tolerance must map dtypes to numbers"));
}

TEST_F(ProblemFolder, a_text_with_files_of_its_own_stays_as_it_is) {
  folder_.write("a.json", "{}");
  const std::string text = "open('a.json')\nFILES = {'a.json': '[]'}\n";
  EXPECT_EQ(*text_of("add.py", text), text);
}

}  // namespace
}  // namespace kq::producer
