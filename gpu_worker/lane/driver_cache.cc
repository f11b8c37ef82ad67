#include "gpu_worker/lane/driver_cache.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/bytes/hash.h"
#include "gpu_worker/compile/child.h"
#include "gpu_worker/machine/scratch.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArchive = "code.zip";  // ARCHIVE in harness/kernels/driver_cache.py
// Goes into the key. It changes when the calls do for which the archive has code.
constexpr const char* kCalls = "1";

// Removes all archives but this one where there are more than kDriverCachesMax.
void prune(const std::string& dir, const fs::path& kept) {
  std::error_code error;
  std::size_t count = 0;
  for (auto each = fs::directory_iterator(dir, error); !error && each != fs::directory_iterator();
       each.increment(error))
    ++count;
  if (count <= kDriverCachesMax) return;
  for (const fs::directory_entry& each : fs::directory_iterator(dir, error)) {
    std::error_code ignored;
    if (each.path() != kept) fs::remove_all(each.path(), ignored);
  }
}

}  // namespace

bool may_search(const Lease& lease) {
  const auto names_search = [&](const Hash& hash) {
    const auto text = file_of(lease, hash);
    return text && (text->find("cudnn.benchmark") != text->npos || text->find("scaled_dot_product") != text->npos);
  };
  return std::ranges::any_of(lease.submission.files, names_search, &SourceFile::hash) ||
         names_search(lease.submission.problem.hash);
}

DriverCache::DriverCache(const std::string& dir, const std::string& driver, const std::string& arch,
                         const Software& software)
    : dir_(dir) {
  const std::string text =
      std::string(kCalls) + '\n' + driver + '\n' + arch + '\n' + software.torch + '\n' + software.packages;
  folder_ = dir + '/' + to_hex(sha256(text));
}

std::string DriverCache::folder() const {
  std::error_code ignored;
  return fs::is_regular_file(fs::path(folder_) / kArchive, ignored) ? folder_ : std::string();
}

Expected<void> DriverCache::make(const Maker& maker, const Lease& lease, const std::stop_token& stop) const {
  KQ_TRY_VALUE(const auto scratch, Scratch::make(maker.scratch, "driver_cache", maker.uid));
  const BuildChild child{.role = ChildRole::driver_cache,
                         .arch = {},
                         .uid = maker.uid,
                         .host_bytes = maker.host_bytes,
                         .limit_ms = kDriverCacheLimitMs,
                         .whole_limit_ms = kDriverCacheLimitMs};
  KQ_TRY_VALUE(const auto end, run_build_child(child, lease, scratch, maker.zygote, stop));
  if (const Evidence* const evidence = end.verdict ? evidence_of(*end.verdict) : nullptr)
    return our_fault("the driver's code could not be compiled ahead: " + evidence->message);
  return keep(scratch.out());
}

Expected<void> DriverCache::keep(const std::string& out) const {
  KQ_TRY_VALUE(const std::string bytes, read_child_file(out + '/' + kArchive, kDriverCacheBytesMax));
  std::error_code error;
  fs::create_directories(folder_, error);
  prune(dir_, folder_);
  const fs::path path = fs::path(folder_) / kArchive;
  // The address makes the name unique among the lanes of this process.
  const fs::path written =
      path.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(reinterpret_cast<std::uintptr_t>(this));
  std::ofstream file(written, std::ios::binary);
  file << bytes;
  file.close();
  if (file) fs::rename(written, path, error);
  if (file && !error) return {};
  std::error_code ignored;
  fs::remove(written, ignored);
  return our_fault("the driver's code cannot be written to " + path.string());
}

}  // namespace kq::worker
