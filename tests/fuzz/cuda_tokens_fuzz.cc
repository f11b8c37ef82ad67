// A CUDA source: every identifier that is found stands in the text, in order, on the line that is said.
#include <algorithm>

#include "core/check.h"
#include "core/limits.h"
#include "guard/cuda_tokens.h"
#include "guard/guard.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source = fuzz::text_of(data, size);
  std::size_t end = 0;
  std::uint32_t line = 1;
  for (const Fact& fact : cuda_facts(source, "k.cu")) {
    const auto at = static_cast<std::size_t>(fact.name.data() - source.data());
    KQ_CHECK(!fact.name.empty() && at >= end && at + fact.name.size() <= source.size());
    line += static_cast<std::uint32_t>(std::count(source.begin() + static_cast<std::ptrdiff_t>(end),
                                                  source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    KQ_CHECK(fact.line == line && fact.file == "k.cu");
    end = at + fact.name.size();
  }

  const auto findings = judge_cuda(source, "k.cu");
  KQ_CHECK(findings.size() <= kFindingsMax);
  for (const Finding& finding : findings) KQ_CHECK(finding.message.size() <= kMessageTextMax);
  return 0;
}
