// Fuzzes the guard's reading of a shared library that a job has built.
#include "core/base/check.h"
#include "core/limits.h"
#include "guard/elf.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  const auto imports = guard::read_elf(bytes);
  if (imports) {
    KQ_CHECK(guard::is_elf(bytes) && imports->symbols.size() <= guard::kElfSymbolsMax);
    for (const std::string& symbol : imports->symbols)
      KQ_CHECK(!symbol.empty() && symbol.size() <= guard::kElfNameBytesMax);
  } else {
    KQ_CHECK(!imports.error().message.empty());
  }
  const auto findings = guard::judge_elf(bytes, "x.so");
  KQ_CHECK(imports || guard::first_rejected(findings) != nullptr);
  KQ_CHECK(findings.size() <= 2 * guard::kFindingsMax);
  for (const guard::Finding& finding : findings)
    KQ_CHECK(finding.message.size() <= kMessageTextMax && finding.line == 0);
  return 0;
}
