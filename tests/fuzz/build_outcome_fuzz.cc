// Fuzzes the reading of the directory that a build child leaves. The first byte of the input selects which files exist,
// the next two are the lengths of two files, and the rest of the input is the contents of the files.
#include "core/base/check.h"
#include "core/limits.h"
#include "gpu_worker/compile/outcome.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  std::string_view rest = fuzz::text_of(data, size);
  const unsigned present = fuzz::take_byte(rest);
  const std::size_t status_size = fuzz::take_byte(rest);
  const std::size_t message_size = fuzz::take_byte(rest);
  const std::string_view status = fuzz::take(rest, status_size);
  const std::string_view message = fuzz::take(rest, message_size);
  folder.put("status", status, (present & 1) != 0);
  folder.put("message", message, (present & 2) != 0);
  folder.put("facts", rest, (present & 4) != 0);

  const auto verdict = worker::read_outcome(folder.path());
  if (!verdict) {
    KQ_CHECK((present & 1) != 0 && status.starts_with("ok"));
    return 0;
  }
  const Evidence* evidence = evidence_of(*verdict);
  KQ_CHECK(evidence != nullptr && evidence->message.size() <= kMessageTextMax);
  switch (name_of(*verdict)) {
    case VerdictName::build_failed:
      KQ_CHECK(!evidence->message.empty());
      break;
    case VerdictName::rejected:
      KQ_CHECK(!evidence->rule.empty() && !evidence->place.empty());
      break;
    case VerdictName::out_of_memory:
      KQ_CHECK(evidence->stage == Stage::build);
      KQ_CHECK(evidence->reason == (status.starts_with("disk") ? "disk" : "host"));
      break;
    default:
      KQ_CHECK(name_of(*verdict) == VerdictName::unsupported_here);
  }
  return 0;
}
