// Fuzzes the parser of the facts file that a build child writes.
#include "core/base/check.h"
#include "core/limits.h"
#include "guard/facts.h"
#include "guard/guard.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

// Returns the end of the fact's line, behind its name. A line without an argument has no tab there, because a line of
// the largest size has no room for one.
std::string written_end(const guard::Fact& fact) {
  if (fact.argument.empty() && !fact.is_dead) return "";
  return "\t" + std::string(fact.argument) + (fact.is_dead ? "\tdead" : "");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto facts = guard::parse_facts(text);
  const auto findings = guard::judge_facts(text);
  KQ_CHECK(facts.has_value() == findings.has_value());
  if (!facts) {
    KQ_CHECK(facts.error().message.starts_with("facts"));
    return 0;
  }
  std::string written;
  for (const guard::Fact& fact : *facts) {
    KQ_CHECK(fact.line > 0 && !fact.file.empty() && !fact.name.empty());
    KQ_CHECK(fact.name.size() + fact.argument.size() <= guard::kFactLineBytesMax);
    written += "file\t" + std::string(fact.file) + "\t" + std::string(guard::kFactsVersion) + "\n" +
               std::to_string(fact.line) + "\t" + std::string(to_string(fact.kind)) + "\t" + std::string(fact.name) +
               written_end(fact) + "\n";
  }
  if (written.size() <= guard::kFactsBytesMax) KQ_CHECK(guard::parse_facts(written) == facts);
  KQ_CHECK(findings->size() <= 2 * guard::kFindingsMax);
  for (const guard::CodeText& code : guard::code_texts(*facts))
    KQ_CHECK(!code.lines.empty() && code.line_in_file(1) > 0);
  for (const guard::Finding& finding : *findings) KQ_CHECK(finding.message.size() <= kMessageTextMax);
  return 0;
}
