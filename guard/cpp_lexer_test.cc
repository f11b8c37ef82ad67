#include "guard/cpp_lexer.h"

#include <gtest/gtest.h>

#include "core/limits.h"

namespace kq::guard {
namespace {

std::string tokens(std::string_view source) {
  const CppText text(source);
  std::string found;
  for (const Token& token : text.tokens(1)) {
    if (!found.empty()) found += ' ';
    found += std::string(token.text) + "@" + std::to_string(token.line);
  }
  return found;
}
std::string names(std::string_view source) {
  const CppText text(source);
  std::string found;
  for (const Token& token : text.tokens(1)) {
    if (token.kind == TokenKind::name) found += std::string(token.text) + ":" + std::to_string(token.line) + " ";
  }
  return found;
}

TEST(CppLexer, tokens_have_the_line_they_begin_on) {
  EXPECT_EQ(tokens("int a;\n\nb(c1);"), "int@1 a@1 ;@1 b@3 (@3 c1@3 )@3 ;@3");
}

TEST(CppLexer, comments_strings_and_characters_hold_no_names) {
  EXPECT_EQ(names("// cudaStreamCreate\n/* x\ny */ \"z \\\" z\" 'q' a"), "a:3 ");
  EXPECT_EQ(names("R\"(x \" y)\" a R\"mark(b)\" c)mark\" d"), "a:1 d:1 ");
}

TEST(CppLexer, continues_after_numbers_and_unfinished_literals) {
  EXPECT_EQ(names("1'000 a 0x1f b 1.5e-3f c"), "a:1 b:1 c:1 ");
  EXPECT_EQ(names("\"open\na"), "a:2 ");
  EXPECT_EQ(names("/* open"), "");
  EXPECT_EQ(names("R\"open"), "");
  EXPECT_EQ(names("a\\"), "a:1 ");
}

TEST(CppLexer, only_prefixes_of_the_language_open_a_raw_string) {
  EXPECT_EQ(names("LR\"(x)\" uR\"(x)\" UR\"(x)\" u8R\"(x)\" a"), "a:1 ");
  // A macro whose name ends in R does not make the string behind it a raw string.
  EXPECT_EQ(names("R_OR\"(\"; hidden(); //)\"\n"), "R_OR:1 hidden:1 ");
  // The delimiter of a raw string is never this long, and holds no blank.
  EXPECT_EQ(names("R\"12345678901234567(\"; a"), "a:1 ");
  EXPECT_EQ(names("R\"x y(\"; a"), "a:1 ");
  EXPECT_EQ(names("R\"1234567890123456(x)\" y)1234567890123456\" a"), "a:1 ");
}

TEST(CppLexer, a_backslash_joins_lines_even_inside_a_name_or_a_comment) {
  EXPECT_EQ(tokens("cudaStream\\\nCreate(x)\ny"), "cudaStreamCreate@1 (@2 x@2 )@2 y@3");
  EXPECT_EQ(names("// a \\\nb\nc"), "c:3 ");
  EXPECT_EQ(names("a\\ \nb"), "ab:1 ");
}

TEST(CppLexer, a_launch_is_one_token) {
  EXPECT_EQ(tokens("k<<<1, 2>>>(a)"), "k@1 <<<@1 1@1 ,@1 2@1 >>>@1 (@1 a@1 )@1");
}

TEST(CppLexer, content_is_the_text_between_the_quotes) {
  EXPECT_EQ(content_of("\"abc\""), "abc");
  EXPECT_EQ(content_of("u8R\"x(a\"b)x\""), "a\"b");
  EXPECT_EQ(content_of("\""), "\"");
}

// A search of the rest of the source for each raw string would take seconds for a file of the largest size.
TEST(CppLexer, many_unfinished_raw_strings_are_read_in_linear_time) {
  std::string source;
  while (source.size() + 4 <= kFileBytesMax) source += "R\"\"\n";
  EXPECT_EQ(names(source), "");
}

}  // namespace
}  // namespace kq::guard
