#include "guard/guard.h"

#include <algorithm>
#include <bitset>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/limits.h"
#include "guard/cuda_tokens.h"

namespace kq::guard {
namespace {

constexpr std::size_t kRulesMax = 64;
using RuleSet = std::bitset<kRulesMax>;

bool has_kind(const Clause& clause, FactKind kind) {
  return (clause.kinds & kinds({kind})) != 0;
}

bool names(const Clause& clause, std::string_view name) {
  return matches_any(name, clause.names) && !matches_any(name, clause.except);
}

bool breaks(const Rule& rule, const Fact& fact) {
  return std::any_of(rule.clauses.begin(), rule.clauses.end(), [&](const Clause& clause) {
    return has_kind(clause, fact.kind) && names(clause, fact.name) &&
           (clause.with.empty() || matches_any(fact.argument, clause.with)) &&
           (clause.fine_with.empty() || !matches_any(fact.argument, clause.fine_with));
  });
}

// Shortens a text for a finding, which is part of a verdict: a source may hold a name of a megabyte.
std::string shortened(std::string_view text) {
  if (text.size() <= kNameBytesMax) return std::string(text);
  return std::string(text.substr(0, kNameBytesMax)) + "...";
}

std::string what_was_found(const Fact& fact) {
  const bool argument_tells =
      fact.kind == FactKind::option || fact.kind == FactKind::note || fact.name == "stream_number";
  std::string text = shortened(fact.name);
  if (argument_tells && !fact.argument.empty()) text += " " + shortened(fact.argument);
  return text;
}

// Applies the rules to facts and collects findings. It caches which rules a name can break, and which findings were
// reported already.
class Judge {
 public:
  void read(std::span<const Fact> facts) {
    for (const Fact& fact : facts) read(fact);
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  void read(const Fact& fact) {
    const RuleSet& candidates = rules_for(fact.name);
    if (candidates.none()) return;
    for (std::size_t i = 0; i < rules().size(); ++i) {
      if (candidates.test(i) && breaks(rules()[i], fact)) report(i, fact);
    }
  }

  const RuleSet& rules_for(std::string_view name) {
    const auto [entry, is_new] = rules_by_name_.try_emplace(name);
    if (!is_new) return entry->second;
    for (std::size_t i = 0; i < rules().size(); ++i) {
      const auto& clauses = rules()[i].clauses;
      if (std::any_of(clauses.begin(), clauses.end(), [&](const Clause& clause) { return names(clause, name); }))
        entry->second.set(i);
    }
    return entry->second;
  }

  // Adds a finding. Code that never runs is only reported for review: the guard may have missed a way to call it.
  void report(std::size_t index, const Fact& fact) {
    const Rule& rule = rules()[index];
    const Severity severity = fact.is_dead ? Severity::review : rule.severity;
    std::size_t& count = severity == Severity::reject ? rejected_ : reviewed_;
    if (count == kFindingsMax || !reported_.emplace(index, severity, fact.file, fact.line).second) return;
    ++count;
    findings_.push_back({.rule = std::string(rule.name),
                         .severity = severity,
                         .reason = std::string(rule.reason),
                         .file = shortened(fact.file),
                         .line = fact.line,
                         .message = std::string(rule.message) +
                                    (fact.is_dead ? ", in code that does not run: " : ": ") + what_was_found(fact),
                         .hint = std::string(rule.hint)});
  }

  std::unordered_map<std::string_view, RuleSet> rules_by_name_;
  std::set<std::tuple<std::size_t, Severity, std::string_view, std::uint32_t>> reported_;
  std::vector<Finding> findings_;
  std::size_t rejected_ = 0;
  std::size_t reviewed_ = 0;
};

std::vector<Finding> judge_all(const CudaFacts& facts) {
  return judge(facts.facts);
}

}  // namespace

bool is_allowed(std::string_view rule, const Policy& policy) {
  const bool are_graphs_allowed = policy.graphs == Graphs::allow;
  if (rule == "cuda_graph") return are_graphs_allowed;
  const bool is_of_streams =
      rule == "cuda_stream_create" || rule == "cuda_stream_external" || rule == "cuda_stream_context";
  return is_of_streams && (are_graphs_allowed || policy.streams == Streams::joined);
}

const Finding* first_rejected(std::span<const Finding> findings, const Policy& policy) {
  const auto is_rejected = [](const Finding& finding) { return finding.severity == Severity::reject; };
  // A full list may have dropped findings that the policy does not allow.
  const bool is_full = std::cmp_greater_equal(std::ranges::count_if(findings, is_rejected), kFindingsMax);
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return is_rejected(finding) && (is_full || !is_allowed(finding.rule, policy));
  });
  return found == findings.end() ? nullptr : &*found;
}

std::vector<Finding> judge(std::span<const Fact> facts) {
  Judge judge;
  judge.read(facts);
  return judge.take();
}

Expected<std::vector<Finding>> judge_facts(std::string_view text) {
  KQ_TRY_VALUE(const auto facts, parse_facts(text));
  Judge judge;
  judge.read(facts);
  const std::vector<CodeText> texts = code_texts(facts);
  std::vector<CudaFacts> read;  // holds the texts that the facts are views of
  read.reserve(texts.size());
  std::size_t work = 0;
  for (const CodeText& code : texts) {
    if (work > kFactsWorkMax) {
      const Fact over_limit{.file = code.file,
                            .line = code.line_in_file(1),
                            .kind = FactKind::note,
                            .name = "source.macros",
                            .argument = {}};
      judge.read({&over_limit, 1});
      break;
    }
    CudaFacts& found = read.emplace_back(cuda_facts({.name = code.file, .text = code.text}));
    work += found.work;
    for (Fact& fact : found.facts) fact.line = code.line_in_file(fact.line);
    judge.read(found.facts);
  }
  return judge.take();
}

std::vector<Finding> judge_cuda(const CppSource& source, std::span<const CppSource> others) {
  return judge_all(cuda_facts(source, others));
}

bool asks_for_trigraphs(std::string_view flag) {
  constexpr std::string_view kStandards[] = {"c++9", "c++0", "c++11", "c++14", "c++1y", "-ansi"};
  return std::ranges::any_of(kStandards,
                             [&](std::string_view word) { return flag.find(word) != std::string_view::npos; });
}

// Only these trigraphs can hide code: ??/ joins lines, ??= begins a directive, and the quote of ??' begins a character
// literal for the lexer but not for the compiler.
std::vector<Finding> judge_trigraphs(const CppSource& source) {
  for (std::size_t at = source.text.find("??"); at != std::string_view::npos; at = source.text.find("??", at + 1)) {
    const std::string_view found = source.text.substr(at, 3);
    if (found.size() < 3 || std::string_view("/='").find(found[2]) == std::string_view::npos) continue;
    const auto line = static_cast<std::uint32_t>(std::ranges::count(source.text.substr(0, at), '\n')) + 1;
    const Fact fact{
        .file = source.name, .line = line, .kind = FactKind::note, .name = "source.trigraphs", .argument = found};
    return judge({&fact, 1});
  }
  return {};
}

std::vector<Finding> judge_preprocessed(const CppSource& source, std::span<const CppSource> others) {
  return judge_all(preprocessed_facts(source, others));
}

}  // namespace kq::guard
