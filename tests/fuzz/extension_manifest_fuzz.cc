// Fuzzes the reading of the manifest of a build's extensions, which lies on the disk and which an older worker may have
// written, and of the calls that raised, which a tracing child writes.
#include "gpu_worker/compile/extension_manifest.h"

#include "core/base/check.h"
#include "gpu_worker/compile/outcome.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const auto raised = worker::parse_raised(fuzz::text_of(data, size));
  KQ_CHECK(raised.size() <= worker::kRaisedCallsMax);
  for (const worker::RaisedCall& call : raised) KQ_CHECK(!call.key.empty() && !call.error.empty());
  folder.put("kq_extensions.json", fuzz::text_of(data, size));
  const auto extensions = worker::extensions_in(folder.path());
  if (!extensions) return 0;
  KQ_CHECK(extensions->calls > 0 && extensions->compiled <= extensions->calls);
  KQ_CHECK(extensions->failed.size() <= kFailedExtensionsMax);
  KQ_CHECK(extensions->failed.size() <= extensions->calls - extensions->compiled);
  KQ_CHECK(extensions->fell_back == !extensions->failed.empty());
  return 0;
}
