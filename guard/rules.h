// The rules: what a submission may not do, what a person should review, and what the author is told. rules.cc has one
// row per rule. docs/user/guard.md lists the rules, and a test compares the two.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "guard/facts.h"
#include "guard/patterns.h"

namespace kq::guard {

// A finding of severity `reject` ends the job. A finding of severity `review` is only reported.
enum class Severity { review, reject };
constexpr std::array<std::string_view, 2> enum_names(Severity) {
  return {"review", "reject"};
}

// A fact breaks a rule if its kind, name and argument fit one of the rule's clauses. Clauses are in clauses.h, and
// their names and arguments are patterns (guard/patterns.h).
struct Clause {
  std::uint32_t kinds = 0;  // a set of FactKind, made by kinds()
  Patterns names{};
  Patterns except{};     // names that do not break the rule
  Patterns with{};       // the fact's argument must fit one of these; empty: any argument
  Patterns fine_with{};  // arguments with which the fact does not break the rule
};
// Returns a set of kinds as bits, for Clause::kinds.
constexpr std::uint32_t kinds(std::initializer_list<FactKind> list) {
  std::uint32_t bits = 0;
  for (const FactKind kind : list) bits |= 1u << static_cast<std::uint32_t>(kind);
  return bits;
}

struct Rule {
  std::string_view name;
  Severity severity;
  std::string_view reason;  // the reason of the verdict: stream, async, tamper or policy
  std::span<const Clause> clauses;
  std::string_view message;  // what the submission does; the name that was found follows
  std::string_view hint;     // what the author should do instead
  std::string_view why;      // the text of --explain
};

std::span<const Rule> rules();
// Returns the rule of that name, or null.
const Rule* find_rule(std::string_view name);

}  // namespace kq::guard
