#include "guard/rules.h"

#include <gtest/gtest.h>

namespace kq::guard {
namespace {

TEST(Rules, have_unique_names_and_hints) {
  for (const Rule& rule : rules()) {
    EXPECT_FALSE(rule.message.empty() || rule.hint.empty() || rule.why.empty() || rule.clauses.empty()) << rule.name;
    EXPECT_EQ(find_rule(rule.name), &rule);
    for (const Clause& clause : rule.clauses) EXPECT_FALSE(clause.kinds == 0 || clause.names.empty()) << rule.name;
  }
  EXPECT_EQ(find_rule("none"), nullptr);
}

TEST(Rules, have_reasons_that_verdicts_know) {
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(rule.reason == "stream" || rule.reason == "async" || rule.reason == "tamper" || rule.reason == "policy")
        << rule.name;
  }
}

}  // namespace
}  // namespace kq::guard
