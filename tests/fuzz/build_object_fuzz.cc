// What a builder sent of an entry of its cache. Its name is right: anybody can name what he made.
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
  std::size_t files_n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    KQ_CHECK(entry.path() == into);  // nothing beside it
  for (const auto& entry : std::filesystem::directory_iterator(into)) {
    KQ_CHECK(entry.is_regular_file());
    ++files_n;
  }
  KQ_CHECK(files_n <= worker::kBuildFilesMax);
  if (!unpacked) KQ_CHECK(!unpacked.error().message.empty());
  return 0;
}
