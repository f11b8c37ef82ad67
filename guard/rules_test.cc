#include "guard/rules.h"

#include <gtest/gtest.h>

namespace kq::guard {
namespace {

TEST(Rules, have_unique_names_and_say_what_would_be_right) {
  for (const Rule& rule : rules()) {
    EXPECT_FALSE(rule.message.empty() || rule.hint.empty() || rule.why.empty() || rule.clauses.empty()) << rule.name;
    EXPECT_EQ(find_rule(rule.name), &rule);
    for (const Clause& clause : rule.clauses) EXPECT_FALSE(clause.kinds == 0 || clause.names.empty()) << rule.name;
  }
  EXPECT_EQ(find_rule("none"), nullptr);
}

TEST(Rules, that_reject_give_a_reason_that_verdicts_know) {
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(rule.reason == "stream" || rule.reason == "async" || rule.reason == "tamper" || rule.reason == "policy")
        << rule.name;
  }
}

TEST(Patterns, a_star_is_any_characters_and_a_question_mark_itself) {
  EXPECT_TRUE(matches("torch.cuda.Stream", "torch.cuda.Stream"));
  EXPECT_TRUE(matches("x.cudaStreamCreateWithFlags", "*cudaStreamCreate*"));
  EXPECT_TRUE(matches("torch.cuda.?", "torch.cuda.?*"));
  EXPECT_FALSE(matches("torch.cuda.x", "torch.cuda.?*"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_TRUE(matches("", "*"));
  EXPECT_FALSE(matches("ab", "a"));
  EXPECT_FALSE(matches("a", "ab"));
  EXPECT_TRUE(matches("aXbXc", "a*X*c"));
  EXPECT_TRUE(matches("ab", "a**b"));
  EXPECT_FALSE(matches("ab", "ab*b")) << "one letter is not two";
  EXPECT_FALSE(matches("StreamCreate.cu", "*cu*StreamCreate*"));
  EXPECT_TRUE(matches("cucuStreamCreate", "*cu*StreamCreate*"));
}

TEST(Patterns, are_looked_for_once_in_a_name_of_any_length) {
  std::string name;
  for (int i = 0; i < 500'000; ++i) name += "cu";
  EXPECT_FALSE(matches(name, "*cu*StreamCreate*"));
  EXPECT_TRUE(matches(name + "StreamCreate", "*cu*StreamCreate*"));
}

}  // namespace
}  // namespace kq::guard
