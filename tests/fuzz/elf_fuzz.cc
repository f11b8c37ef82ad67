// A library that somebody built.
#include "core/base/check.h"
#include "core/limits.h"
#include "guard/elf.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const auto imports = read_elf(bytes);
  if (imports) {
    KQ_CHECK(is_elf(bytes) && imports->symbols.size() <= kElfSymbolsMax);
    for (const std::string& symbol : imports->symbols) KQ_CHECK(!symbol.empty() && symbol.size() <= kElfNameBytesMax);
  } else {
    KQ_CHECK(!imports.error().message.empty());
  }
  const auto findings = judge_elf(bytes, "x.so");
  KQ_CHECK(imports || first_rejected(findings) != nullptr);
  KQ_CHECK(findings.size() <= 2 * kFindingsMax);
  for (const Finding& finding : findings) KQ_CHECK(finding.message.size() <= kMessageTextMax && finding.line == 0);
  return 0;
}
