#include "guard/guard.h"

#include <algorithm>

#include "core/limits.h"
#include "guard/cuda_tokens.h"
#include "guard/facts.h"
#include "guard/rules.h"

namespace kq {
namespace {

// '*' stands for any characters. The patterns are ours and hold few stars, so plain recursion is short enough.
bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*') return !name.empty() && name.front() == pattern.front() && matches(name.substr(1), pattern.substr(1));
  for (std::size_t skip = 0; skip <= name.size(); ++skip) {
    if (matches(name.substr(skip), pattern.substr(1))) return true;
  }
  return false;
}

bool matches_any(std::string_view name, std::span<const std::string_view> patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) { return matches(name, pattern); });
}

bool breaks(const Rule& rule, const Fact& fact) {
  if (!matches_any(fact.name, rule.patterns)) return false;
  return fact.kind != FactKind::call || !matches_any(fact.argument, rule.fine_with);
}

bool reported(const std::vector<Finding>& findings, const Rule& rule, const Fact& fact) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.rule == rule.name && finding.file == fact.file && finding.line == fact.line;
  });
}

// A sentence for people, and part of a verdict: a name of a megabyte has no place in it.
std::string name_in(const Fact& fact) {
  if (fact.name.size() <= kNameBytesMax) return std::string(fact.name);
  return std::string(fact.name.substr(0, kNameBytesMax)) + "...";
}

Finding finding_of(const Rule& rule, const Fact& fact) {
  return Finding{.rule = std::string(rule.name), .file = std::string(fact.file), .line = fact.line,
                 .message = std::string(rule.message) + ": " + name_in(fact), .hint = std::string(rule.hint)};
}

std::vector<Finding> judge(std::span<const Fact> facts) {
  std::vector<Finding> findings;
  for (const Fact& fact : facts) {
    for (const Rule& rule : kRules) {
      if (findings.size() == kFindingsMax) return findings;
      if (breaks(rule, fact) && !reported(findings, rule, fact)) findings.push_back(finding_of(rule, fact));
    }
  }
  return findings;
}

}  // namespace

Expected<std::vector<Finding>> judge_facts(std::string_view text) {
  const auto facts = parse_facts(text);
  if (!facts) return failure(facts.error());
  return judge(*facts);
}

std::vector<Finding> judge_cuda(std::string_view source, std::string_view file) { return judge(cuda_facts(source, file)); }

}  // namespace kq
