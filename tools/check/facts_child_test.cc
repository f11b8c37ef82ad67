#include "tools/check/facts_child.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "core/limits.h"
#include "tools/stack/stack.h"

namespace kq::tools {
namespace {

FactsChildOptions options() {
  const char* named = std::getenv("KQ_PYTHON");
  return {.python = named != nullptr ? named : KQ_TEST_PYTHON, .harness = program_folder() + "/../share/kq/harness"};
}

TEST(FactsChild, answers_several_sources_one_after_another) {
  FactsChild child(options());
  const auto first = child.facts("a.py", "f()\n");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(std::get<std::string>(*first), "file\ta.py\t2\n1\tcall\tf\n");
  const auto second = child.facts("b.py", "x = (\n");
  ASSERT_TRUE(second);
  EXPECT_EQ(std::get<UnreadableSource>(*second).line, 1u);
  const auto third = child.facts("c.py", "");
  ASSERT_TRUE(third);
  EXPECT_EQ(std::get<std::string>(*third), "file\tc.py\t2\n");
}

TEST(FactsChild, accepts_a_source_of_the_largest_size) {
  FactsChild child(options());
  const std::string source = "x = '" + std::string(kFileBytesMax - 7, 'x') + "'\n";
  ASSERT_TRUE(child.facts("a.py", source));
  EXPECT_TRUE(child.facts("b.py", "f()\n"));
}

TEST(FactsChild, a_source_that_takes_too_long_is_refused_even_as_the_first) {
  FactsChildOptions given = options();
  given.limit_ms = 10'000;
  FactsChild child(given);
  std::string deep = "x = ";
  for (int i = 0; i < 400'000; ++i) deep += "f(1)+";  // Python's parser fails, or takes seconds
  const auto first = child.facts("deep.py", deep + "1\n");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(std::holds_alternative<UnreadableSource>(*first));
  EXPECT_TRUE(child.facts("b.py", "f()\n"));
}

TEST(FactsChild, many_empty_lines_are_parsed_quickly) {
  FactsChildOptions given = options();
  given.limit_ms = 30'000;
  FactsChild child(given);
  const auto facts = child.facts("a.py", "x = \"\"\"<<<" + std::string(500'000, '\n') + "\"\"\"\n");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_TRUE(std::holds_alternative<std::string>(*facts));
}

TEST(FactsChild, a_child_that_never_answers_is_our_fault) {
  FactsChildOptions given = options();
  given.limit_ms = 0;
  FactsChild late(given);
  EXPECT_FALSE(late.facts("a.py", "f()\n"));
}

TEST(FactsChild, a_missing_interpreter_is_our_fault) {
  FactsChildOptions wrong = options();
  wrong.python = "no-such-python";
  FactsChild child(wrong);
  const auto facts = child.facts("a.py", "f()\n");
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().kind, ErrorKind::our_fault);
  EXPECT_NE(facts.error().message.find("KQ_PYTHON"), std::string::npos);
  // The source is larger than the buffer of the socket, so the write notices that the child has ended.
  EXPECT_FALSE(child.facts("large.py", std::string(8u << 20, '#')));
}

}  // namespace
}  // namespace kq::tools
