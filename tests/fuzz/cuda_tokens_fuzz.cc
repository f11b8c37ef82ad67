// Fuzzes the guard's reading of a CUDA source, and of the preprocessor's output for it. Every fact must be on an
// existing line, and the number of facts and findings is limited.
#include <algorithm>

#include "core/base/check.h"
#include "core/limits.h"
#include "guard/cuda_tokens.h"
#include "guard/guard.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

void check(const guard::CudaFacts& facts, std::uint32_t lines) {
  KQ_CHECK(facts.facts.size() <= 4 * guard::kTokensMax);
  for (const guard::Fact& fact : facts.facts) {
    KQ_CHECK(!fact.name.empty() && fact.name.size() <= 2 * kNameBytesMax && fact.argument.size() <= kNameBytesMax);
    KQ_CHECK(fact.line >= 1 && fact.line <= lines);
    KQ_CHECK(fact.file == "k.cu" || fact.file == "own.h" || (fact.file.empty() && fact.name.starts_with("source.")));
    KQ_CHECK(!fact.is_dead);
  }
}

void check(const std::vector<guard::Finding>& findings) {
  KQ_CHECK(findings.size() <= 2 * guard::kFindingsMax);
  for (const guard::Finding& finding : findings)
    KQ_CHECK(finding.message.size() <= kMessageTextMax && finding.line > 0);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source = fuzz::text_of(data, size);
  const std::size_t half = source.size() / 2;
  const std::vector<guard::CppSource> others{{"own.h", source.substr(half)}};
  const auto lines = static_cast<std::uint32_t>(std::count(source.begin(), source.end(), '\n') + 1);
  check(guard::cuda_facts({"k.cu", source}, others), lines);
  check(guard::judge_cuda({"k.cu", source}, others));
  check(guard::preprocessed_facts({"k.cu", source}, others), UINT32_MAX);
  check(guard::judge_preprocessed({"k.cu", source}, others));
  return 0;
}
