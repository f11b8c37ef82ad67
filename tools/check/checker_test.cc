#include "tools/check/checker.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tools/stack/stack.h"

namespace kq::tools {
namespace {

Checker checker() {
  const char* named = std::getenv("KQ_PYTHON");
  return Checker(
      {.python = named != nullptr ? named : KQ_TEST_PYTHON, .harness = program_folder() + "/../share/kq/harness"});
}
std::vector<std::string> lines_of(const CheckReport& report) {
  std::vector<std::string> lines;
  for (const guard::Finding& finding : report.findings)
    lines.push_back(finding.file + ":" + std::to_string(finding.line) + " " + finding.rule);
  return lines;
}
using Lines = std::vector<std::string>;

TEST(Language, is_decided_by_name_and_content) {
  EXPECT_EQ(language_of("a/b.py", ""), Language::python);
  EXPECT_EQ(language_of("k.cu", ""), Language::cuda);
  EXPECT_EQ(language_of("k.cuh", ""), Language::cuda);
  EXPECT_EQ(language_of("k.bin",
                        "\x7f"
                        "ELF..."),
            Language::library);
  EXPECT_EQ(language_of("k.txt", "import torch"), std::nullopt);
  EXPECT_EQ(language_of("k.txt", std::string_view("PK\0", 3)), Language::library) << "a file that is no text";
}

TEST(Checker, findings_have_the_path_that_was_given) {
  Checker check{checker()};
  CheckReport report;
  ASSERT_TRUE(check.check({"dir/a.py", "import torch\n\ntorch.cuda.Stream()\n"}, Language::python, {}, report));
  ASSERT_TRUE(check.check({"dir/k.cu", "cudaStreamCreate(&s);"}, Language::cuda, {}, report));
  EXPECT_EQ(lines_of(report), (Lines{"dir/a.py:3 cuda_stream_create", "dir/k.cu:1 cuda_stream_create"}));
  EXPECT_EQ(report.files, 2u);
  EXPECT_EQ(report.file_ms.size(), 2u);
}

TEST(Checker, a_header_beside_a_source_is_read_with_it) {
  Checker check{checker()};
  CheckReport report;
  const std::vector<guard::CppSource> headers{
      {"own.cuh", "\ninline void f() { cudaStreamCreate(&s); }\n#define MAKE cudaStreamCreate\n"}};
  ASSERT_TRUE(
      check.check({"dir/k.cu", "#include \"own.cuh\"\nvoid g() { MAKE(&s); }"}, Language::cuda, headers, report));
  EXPECT_EQ(lines_of(report), (Lines{"dir/own.cuh:2 cuda_stream_create", "dir/k.cu:2 cuda_stream_create"}));
}

TEST(Checker, a_file_that_is_no_text_is_rejected_as_in_the_build_lane) {
  Checker check{checker()};
  CheckReport report;
  ASSERT_TRUE(check.check({"dir/k.pyc", "x"}, Language::library, {}, report));
  ASSERT_TRUE(check.check({"dir/data.txt", std::string("1 2\0", 4)}, Language::library, {}, report));
  EXPECT_EQ(lines_of(report), (Lines{"dir/k.pyc:0 disguised_source", "dir/data.txt:0 disguised_source"}));
}

TEST(Checker, a_syntax_error_is_reported_with_its_line) {
  Checker check{checker()};
  CheckReport report;
  ASSERT_TRUE(check.check({"a.py", "x = 1\ny = (\n"}, Language::python, {}, report));
  ASSERT_EQ(report.unchecked.size(), 1u);
  EXPECT_EQ(report.unchecked[0].line, 2u);
  EXPECT_NE(report.unchecked[0].message.find("never closed"), std::string::npos);
}

}  // namespace
}  // namespace kq::tools
