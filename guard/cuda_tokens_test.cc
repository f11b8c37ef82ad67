#include "guard/cuda_tokens.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "guard/guard.h"

namespace kq {
namespace {

std::string names(std::string_view source) {
  std::string text;
  for (const Fact& fact : cuda_facts(source, "a.cu")) text += std::string(fact.name) + ":" + std::to_string(fact.line) + " ";
  return text;
}

TEST(CudaTokens, are_names_with_their_lines) { EXPECT_EQ(names("int a;\n\nb(c1);"), "int:1 a:1 b:3 c1:3 "); }

TEST(CudaTokens, leave_out_comments_strings_and_characters) {
  EXPECT_EQ(names("// cudaStreamCreate\n/* x\ny */ \"z \\\" z\" 'q' a"), "a:3 ");
  EXPECT_EQ(names("R\"(x \" y)\" a R\"mark(b)\" c)mark\" d"), "a:1 d:1 ");
}

TEST(CudaTokens, keep_up_after_numbers_and_unfinished_text) {
  EXPECT_EQ(names("1'000 a 0x1f b 1.5e3f c"), "a:1 b:1 c:1 ");
  EXPECT_EQ(names("\"open\na"), "a:2 ");
  EXPECT_EQ(names("/* open"), "");
  EXPECT_EQ(names("R\"open"), "");
  EXPECT_EQ(names("a\\"), "a:1 ");
}

TEST(CudaTokens, only_the_language_s_own_prefixes_open_a_raw_string) {
  EXPECT_EQ(names("LR\"(x)\" uR\"(x)\" UR\"(x)\" u8R\"(x)\" a"), "a:1 ");
  // A macro that ends in R hides nothing behind an ordinary string.
  EXPECT_EQ(names("#define R_OR\nR_OR\"(\"; hidden(); //)\"\n"), "define:1 R_OR:1 R_OR:2 hidden:2 ");
  // No mark of a raw string is this long, or holds a blank.
  EXPECT_EQ(names("R\"12345678901234567(\"; a"), "a:1 ");
  EXPECT_EQ(names("R\"x y(\"; a"), "a:1 ");
  EXPECT_EQ(names("R\"1234567890123456(x)\" y)1234567890123456\" a"), "a:1 ");
}

// Each of them once searched the rest of the source: seconds for a file of the largest size.
TEST(CudaTokens, many_unfinished_raw_strings_take_no_time) {
  std::string source;
  while (source.size() + 4 <= kFileBytesMax) source += "R\"\"\n";
  EXPECT_EQ(names(source), "");
}

TEST(JudgeCuda, shortens_a_name_that_no_person_would_read) {
  const auto findings = judge_cuda("cudaStreamCreate" + std::string(kFileBytesMax / 2, 'x'), "f.cu");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_LE(findings[0].message.size(), kMessageTextMax);
  EXPECT_TRUE(findings[0].message.ends_with("xxx..."));
}

TEST(JudgeCuda, names_the_line_of_a_stream) {
  const auto findings = judge_cuda("#include <cuda_runtime.h>\nvoid f() {\n  cudaStream_t s;\n  cudaStreamCreateWithFlags(&s, 1);\n}\n", "f.cu");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cuda_stream_create");
  EXPECT_EQ(findings[0].file, "f.cu");
  EXPECT_EQ(findings[0].line, 4u);
}

TEST(JudgeCuda, lets_honest_words_pass) {
  EXPECT_TRUE(judge_cuda("// cudaStreamCreate is not used\nvoid stream_k(cudaStream_t stream) { std::ostringstream s; }", "f.cu").empty());
}

}  // namespace
}  // namespace kq
