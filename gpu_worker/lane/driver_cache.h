// The archive of code that the CUDA driver has compiled from PTX, and torch from source, with which every Python child
// on a GPU begins.
//
// Theory of operation. The driver compiles PTX at its first launch and keeps the code in a folder. cuDNN launches such
// kernels while it searches for an algorithm, so that the first search of a job takes about 1 s with an empty folder,
// and 0.1 s with a filled one. The folder of a child is its own, because code that one job leaves must not run in
// another one. A child that runs no code of a job makes an archive of that code (harness/kernels/driver_cache.py), once
// for each driver, architecture and set of Python packages: while the worker has no work, or before the first job that
// may use the code (gpu_worker/lane/children.h). Later children begin with a copy.
//
//   DIR/KEY/code.zip   the archive; KEY is the hash in hex of everything that the code depends on
//   DIR/KEY.lock       the lock of the lane that makes the archive
//
// Workers may share the directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/result.h"
#include "sys/file_lock.h"

namespace kq::worker {

inline constexpr std::size_t kDriverCacheBytesMax = 256u << 20;
inline constexpr std::size_t kDriverCachesMax = 8;            // the next archive removes so many others
inline constexpr std::int64_t kDriverCacheLimitMs = 120'000;  // for making an archive
// The host's memory for the processes that make an archive, together.
inline constexpr std::uint64_t kDriverCacheHostBytes = 8ull << 30;

// Returns whether no child can write to the worker's files, given the layers of its sandbox. A child has the worker's
// own user where `first_uid` is 0.
bool are_files_protected(const std::string& layers, std::uint32_t first_uid);

// What the archive depends on.
struct DriverCacheKey {
  std::string driver;  // the version of NVIDIA's driver
  std::string arch;    // of the GPU
  std::string torch;
  std::string packages;  // as in Software
  std::string harness;   // its directory, with the module that makes the archive
};

// The archive of one key.
class DriverCache {
 public:
  DriverCache(std::string dir, const DriverCacheKey& key);

  // Returns the folder with the archive, or an empty text where no whole archive lies there. Thread-safe.
  std::string folder() const;
  // Takes the right to make the archive, until the lock is destroyed. Returns nothing where another lane has it.
  Expected<std::optional<sys::FileLock>> lock() const;
  // Keeps the archive that a child has left in the directory `out`.
  Expected<void> keep(const std::string& out) const;

 private:
  std::string dir_;
  std::string folder_;
};

}  // namespace kq::worker
