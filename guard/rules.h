// THE RULES: what a submission may not do, what is worth a second look, and what to tell its author. One row per rule,
// in rules.cc; docs/guard.md lists them, and a test holds it to this table.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "guard/facts.h"

namespace kq::guard {

// `reject` ends the job; `review` is told and changes nothing: the sandbox and the judge's clock do not depend on it.
enum class Severity { review, reject };
constexpr std::array<std::string_view, 2> enum_names(Severity) {
  return {"review", "reject"};
}

using Patterns = std::span<const std::string_view>;

// A fact breaks a rule when its kind, its name and its argument fit one of the rule's clauses. In patterns '*' stands
// for any characters; '?' stands for itself, which in names is what could not be told.
struct Clause {
  std::uint32_t kinds = 0;  // bits, see kinds()
  Patterns names{};
  Patterns except{};     // names that are fine
  Patterns with{};       // arguments; empty: any
  Patterns fine_with{};  // arguments with which it does no harm
};
constexpr std::uint32_t kinds(std::initializer_list<FactKind> list) {
  std::uint32_t bits = 0;
  for (const FactKind kind : list) bits |= 1u << static_cast<std::uint32_t>(kind);
  return bits;
}

struct Rule {
  std::string_view name;
  Severity severity;
  std::string_view reason;  // of the verdict: stream, async, tamper or policy
  std::span<const Clause> clauses;
  std::string_view message;  // what it does, before the name that was found
  std::string_view hint;     // what would be right
  std::string_view why;      // for --explain
};

std::span<const Rule> rules();
const Rule* find_rule(std::string_view name);

bool matches(std::string_view name, std::string_view pattern);
bool matches_any(std::string_view name, Patterns patterns);

}  // namespace kq::guard
