#include "guard/preprocessor.h"

#include <gtest/gtest.h>

#include "core/limits.h"

namespace kq::guard {
namespace {

std::string spelled(const Preprocessor& preprocessor) {
  std::string text;
  for (const Token& token : preprocessor.tokens()) text += (text.empty() ? "" : " ") + std::string(token.text);
  return text;
}
std::string out(std::string_view source, std::vector<CppSource> others = {}) {
  return spelled(Preprocessor({"k.cu", source}, others));
}

TEST(Preprocessor, replaces_macros_and_joins_names) {
  EXPECT_EQ(out("#define A b\nA c"), "b c");
  EXPECT_EQ(out("#define CAT(a, b) a##b\nCAT(cudaStream, Create)(&s);"), "cudaStreamCreate ( & s ) ;");
  EXPECT_EQ(out("#define CAT2(a, b) a##b\n#define CAT(a, b) CAT2(a, b)\n#define X Stream\nCAT(CAT(cuda, X), Create)"),
            "cudaStreamCreate");
  EXPECT_EQ(out("#define S(x) #x\nS(a b)"), "\"a b\"");
  EXPECT_EQ(out("%:define CAT(a, b) a%:%:b\nCAT(x, y)"), "xy");
}

TEST(Preprocessor, a_macro_name_from_a_macro_takes_its_arguments_from_behind_it) {
  EXPECT_EQ(out("#define MAKE(s) cudaStreamCreate(s)\n#define F MAKE\nF(&s);"), "cudaStreamCreate ( & s ) ;");
  EXPECT_EQ(out("#define EMPTY\n#define MAKE(s) made(s)\nMAKE EMPTY (x)"), "MAKE ( x )");
}

TEST(Preprocessor, handles_variable_arguments) {
  EXPECT_EQ(out("#define LOG(f, ...) log(f, ##__VA_ARGS__)\nLOG(a, b, c)"), "log ( a , b , c )");
  EXPECT_EQ(out("#define ALL(args...) all(args)\nALL(a, b)"), "all ( a , b )");
  EXPECT_EQ(out("#define PASS(...) __VA_ARGS__\nPASS(a, PASS(b))"), "a , b");
}

TEST(Preprocessor, a_macro_is_not_replaced_inside_itself) {
  EXPECT_EQ(out("#define a a b\na"), "a b");
  EXPECT_EQ(out("#define a b\n#define b a\na b"), "a b");
  EXPECT_EQ(out("#define f(x) x f\nf(1)(2)"), "1 f ( 2 )");
}

TEST(Preprocessor, drops_branches_that_are_certainly_not_compiled) {
  EXPECT_EQ(out("#if 0\na\n#else\nb\n#endif\nc"), "b c");
  EXPECT_EQ(out("#define ON 1\n#if ON\na\n#else\nb\n#endif"), "a");
  EXPECT_EQ(out("#if 0\n#if X\na\n#else\nb\n#endif\n#elif 1\nc\n#else\nd\n#endif"), "c");
  EXPECT_EQ(out("#if !0\na\n#elif 1\nb\n#endif"), "a");
}

TEST(Preprocessor, every_branch_that_may_be_compiled_counts) {
  EXPECT_EQ(out("#ifdef __CUDACC__\na\n#else\nb\n#endif"), "a b");
  EXPECT_EQ(out("#if X\na\n#elif 1\nb\n#else\nc\n#endif"), "a b c");
  EXPECT_EQ(out("#ifdef X\n#define M one\n#else\n#define M two\n#endif\nM"), "one two M");
  EXPECT_EQ(out("#define M one\n#ifdef X\n#undef M\n#endif\nM"), "one M");
  EXPECT_EQ(out("#define M one\n#undef M\nM"), "M");
}

TEST(Preprocessor, a_name_that_a_branch_may_define_is_kept_too) {
  EXPECT_EQ(out("#ifdef NEVER\n#define thread mutex\n#endif\nstd::thread t(f);"),
            "std :: mutex std :: thread t ( f ) ;");
  EXPECT_EQ(out("#ifdef A\n#define T mutex\n#else\n#define T thread\n#endif\na::std::T"),
            "a :: std :: mutex a :: std :: thread a :: std :: T");
  EXPECT_EQ(out("#ifdef NEVER\n#define f(x, y) 0\n#endif\nf(a, b) f"), "0 f ( a , b ) f");
  EXPECT_EQ(out("#define M one\n#ifdef X\n#define M two\n#endif\nM"), "one two") << "M is defined in any case";
}

TEST(Preprocessor, a_macro_call_with_directives_inside_is_expanded_as_one) {
  const std::string cat = "#define CAT(a, b) a##b\n";
  EXPECT_EQ(out(cat + "x = CAT(thr,\n#pragma once\nead); y"), "x = CAT ( thr , ead ) ; y thread");
  EXPECT_TRUE(out(cat + "CAT(thr,\n#undef CAT\nead)").find("thread") != std::string::npos);
  EXPECT_TRUE(out(cat + "f(CAT(thr,\n#define X\n#ifdef X\n#endif\n(ead)), CAT(thr, ead))").ends_with("thread )"));
  EXPECT_TRUE(out(cat + "std::CAT(thr,\n#define X\nead)").ends_with(" std :: thread"));
  EXPECT_TRUE(out(cat + "std::\n#define X\nCAT(thr,\n#define Y\nead)").ends_with(" std :: thread"));
  EXPECT_EQ(out("f(a)\n#define X\ng(b)\n#undef X\nX"), "f ( a ) g ( b ) X");
}

TEST(Preprocessor, reads_headers_of_the_submission_and_no_others) {
  const std::vector<CppSource> others{{"own.h", "#pragma once\n#define MAKE cudaStreamCreate\n"},
                                      {"loop.h", "x\n#include \"loop.h\"\n"}};
  EXPECT_EQ(out("#include <cuda_runtime.h>\n#include \"own.h\"\nMAKE(&s)", others), "cudaStreamCreate ( & s )");
  EXPECT_EQ(out("#include \"sub/own.h\"\nMAKE", others), "cudaStreamCreate");
  EXPECT_EQ(out("#define H \"own.h\"\n#include H\nMAKE", others), "cudaStreamCreate");
  const Preprocessor loop({"k.cu", "#include \"loop.h\"\ny"}, others);
  EXPECT_TRUE(loop.is_partly_read());
  EXPECT_TRUE(spelled(loop).ends_with("x y"));
}

TEST(Preprocessor, knows_macros_of_common_headers_that_join_names) {
  EXPECT_EQ(out("C10_CONCATENATE(cuStream, Create)"), "cuStreamCreate");
}

TEST(Preprocessor, tokens_of_a_macro_have_the_line_of_its_use) {
  const Preprocessor preprocessor({"k.cu", "#define M a \\\n b\n\nx M"}, {});
  ASSERT_EQ(preprocessor.tokens().size(), 3u);
  for (const Token& token : preprocessor.tokens()) EXPECT_EQ(token.line, 4u) << token.text;
}

TEST(Preprocessor, expansion_to_very_many_tokens_is_cut_off) {
  std::string bomb = "#define a0 x x\n";
  for (int i = 1; i < 40; ++i)
    bomb += "#define a" + std::to_string(i) + " a" + std::to_string(i - 1) + " a" + std::to_string(i - 1) + "\n";
  const Preprocessor preprocessor({"k.cu", bomb + "a39"}, {});
  EXPECT_TRUE(preprocessor.is_cut_off());
  EXPECT_LE(preprocessor.tokens().size(), 2 * kTokensMax);
  const Preprocessor deep({"k.cu", "#define f(x) f2(f2(x))\n#define f2(x) x\n" + std::string(20'000, 'f') + "\n"}, {});
  EXPECT_EQ(deep.tokens().size(), 1u);
}

// Without a limit on the work, each of these would take minutes: arguments that never end, and a chain of macros that
// each pass on a whole file.
TEST(Preprocessor, expansion_that_takes_very_much_work_is_cut_off) {
  std::string open = "#define f(x) x\n";
  while (open.size() < kFileBytesMax) open += "f(";
  EXPECT_TRUE(Preprocessor({"k.cu", open}, {}).is_cut_off());
  std::string chain;
  for (int i = 0; i < 8000; ++i) chain += "#define a" + std::to_string(i) + "(x) a" + std::to_string(i + 1) + "(x)\n";
  chain += "a0(";
  while (chain.size() < kFileBytesMax) chain += "b ";
  EXPECT_TRUE(Preprocessor({"k.cu", chain + ")"}, {}).is_cut_off());
}

TEST(Preprocessor, the_cost_of_branches_and_includes_is_linear_in_their_length) {
  std::string deep;
  for (int i = 0; i < 150'000; ++i) deep += "#if 1\n";
  std::string defines;
  while (defines.size() < kFileBytesMax) defines += "#define a\n";
  const auto included = [&](int times) {
    std::string source = deep;
    for (int i = 0; i < times; ++i) source += "#include \"b.h\"\n";
    const std::vector<CppSource> others{{"b.h", defines}};
    return Preprocessor({"k.cu", source + "end"}, others).is_cut_off();
  };
  EXPECT_FALSE(included(4));
  EXPECT_TRUE(included(8)) << "this is more text than the limit";
  // This macro uses one long argument very often.
  std::string same = "#define S(x) ";
  for (int i = 0; i < 100'000; ++i) same += "#x ";
  same += "\nS(";
  for (int i = 0; i < 100'000; ++i) same += "b ";
  EXPECT_TRUE(Preprocessor({"k.cu", same + ")"}, {}).is_cut_off());
  // This macro makes very many long names.
  std::string names = "#define P(x) " + std::string(4000, 'u') + "##x\n";
  for (int i = 0; i < 5'000; ++i) names += "P(" + std::to_string(i) + ") ";
  EXPECT_TRUE(Preprocessor({"k.cu", names}, {}).is_cut_off());
}

// A name without a text would be no name for the rules.
TEST(Preprocessor, a_name_that_is_too_long_to_join_keeps_its_left_part) {
  const std::string half(2048, 'a');
  std::string source = "#define P(x) ";
  for (std::size_t made = 0; made <= kMadeBytesMax; made += 2 * half.size()) source += "x##x ";
  const Preprocessor preprocessor({"k.cu", source + "\nP(" + half + ")"}, {});
  EXPECT_TRUE(preprocessor.is_cut_off());
  EXPECT_EQ(preprocessor.tokens().front().text, half + half);
  EXPECT_EQ(preprocessor.tokens().back().text, half);
  EXPECT_EQ(out("#define CAT(a, b) a##b\nCAT(x, " + std::string(4096, 'a') + ")"), "x");
}

TEST(Preprocessor, preprocessed_output_is_read_by_its_line_marks) {
  const std::string done =
      "# 1 \"k.cu\"\n# 1 \"/usr/include/x.h\" 1 3\ncudaStreamCreate;\n# 7 \"dir/k.cu\" 2\na;\n\nb\n# 3 \"own.h\" "
      "1\nc\n";
  const std::vector<CppSource> others{{"own.h", ""}};
  const Preprocessor preprocessor({"k.cu", done}, others, true);
  EXPECT_EQ(spelled(preprocessor), "a ; b c");
  EXPECT_EQ(preprocessor.tokens()[0].line, 7u);
  EXPECT_EQ(preprocessor.tokens()[2].line, 9u);
  EXPECT_EQ(preprocessor.file(preprocessor.tokens()[3].file), "own.h");
  EXPECT_EQ(preprocessor.tokens()[3].line, 3u);
}

TEST(Preprocessor, lists_line_directives) {
  const Preprocessor preprocessor({"k.cu", "#define A\n#line 7 \"x\"\n# 9 \"y\"\n#pragma once\n"}, {});
  std::string words;
  for (const Directive& each : preprocessor.directives())
    words += std::string(each.word) + ":" + std::to_string(each.line) + " ";
  EXPECT_EQ(words, "define:1 line:2 line:3 pragma:4 ");
}

}  // namespace
}  // namespace kq::guard
