// Fuzzes the unpacking of an artifact that a builder sent. The hash is correct, because a malicious builder can compute
// it.
#include <filesystem>

#include "core/base/check.h"
#include "gpu_worker/compile/cache.h"
#include "gpu_worker/compile/object.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  const std::string into = folder.path() / "into";
  std::filesystem::remove_all(into);
  std::filesystem::create_directories(into);
  BuildObject object;
  object.bytes = fuzz::text_of(data, size);
  object.hash = sha256(object.bytes);
  const auto unpacked = worker::unpack_object(object, into);
  std::size_t file_count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    KQ_CHECK(entry.path() == into);  // no file is written outside `into`
  for (const auto& entry : std::filesystem::directory_iterator(into)) {
    KQ_CHECK(entry.is_regular_file());
    ++file_count;
  }
  KQ_CHECK(file_count <= worker::kBuildFilesMax);
  if (!unpacked) KQ_CHECK(!unpacked.error().message.empty());
  return 0;
}
