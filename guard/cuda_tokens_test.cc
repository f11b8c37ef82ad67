#include "guard/cuda_tokens.h"

#include <gtest/gtest.h>

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
