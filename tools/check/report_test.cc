#include "tools/check/report.h"

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

CheckReport report() {
  CheckReport made;
  made.files = 2;
  made.findings.push_back({.rule = "cuda_graph",
                           .severity = guard::Severity::reject,
                           .reason = "stream",
                           .file = "a b/c\xff.py",
                           .line = 3,
                           .message = "captures\x1b",
                           .hint = "do not"});
  made.findings.push_back({.rule = "process",
                           .severity = guard::Severity::review,
                           .reason = "policy",
                           .file = "d.py",
                           .line = 1,
                           .message = "forks",
                           .hint = "look"});
  made.unchecked.push_back({.path = "e.py", .line = 7, .message = "is none"});
  return made;
}

TEST(Report, text_is_a_line_for_each_finding) {
  const std::string text = report_text(report());
  EXPECT_EQ(text.substr(text.find('\n') + 1), "d.py:1 process review: forks; look\n");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(report_text({}), "");
}

TEST(Report, sarif_names_rule_level_and_place) {
  const std::string sarif = report_sarif(report());
  for (const char* piece :
       {"\"version\": \"2.1.0\"", "\"ruleId\": \"cuda_graph\"", "\"level\": \"error\"", "\"level\": \"note\"",
        "\"uri\": \"a%20b/c%FF.py\"", "\"startLine\": 3", "\"executionSuccessful\": false"}) {
    EXPECT_NE(sarif.find(piece), std::string::npos) << piece;
  }
}

TEST(Report, json_has_findings_and_unchecked_files) {
  const std::string json = report_json(report());
  for (const char* piece : {"\"files\": 2", "\"severity\": \"review\"", "\"unjudged\": [", "\"line\": 7"})
    EXPECT_NE(json.find(piece), std::string::npos) << piece;
}

TEST(Report, every_rule_is_listed_and_explained) {
  for (const guard::Rule& rule : guard::rules()) {
    EXPECT_NE(rules_text().find(rule.name), std::string::npos);
    EXPECT_NE(rules_json().find(rule.name), std::string::npos);
    EXPECT_NE(explanation_text(rule).find(rule.why), std::string::npos);
  }
}

}  // namespace
}  // namespace kq::tools
