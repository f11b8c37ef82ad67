// The code that the CUDA driver compiles from PTX, which every child with a GPU begins with.
//
// Theory of operation. The driver compiles PTX at its first launch and keeps the code in a folder. cuDNN launches such
// kernels while it searches for an algorithm, so that a search takes 0.7 s with an empty folder, and 0.04 s with a
// filled one. The folder of a child is its own, because code that one job leaves must not run in another one. A child
// that runs no code of a job makes an archive of that code (harness/kernels/driver_cache.py), once for each driver,
// torch and GPU model, when the first job comes that may search. Later children begin with a copy.
//
//   DIR/KEY/code.zip   the archive; KEY is the hash in hex of everything that the code depends on
//
// Workers that use the same directory share it: a file is written under another name and renamed.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "core/base/error.h"
#include "core/messages.h"
#include "core/result.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

inline constexpr std::size_t kDriverCacheBytesMax = 256u << 20;
inline constexpr std::size_t kDriverCachesMax = 8;  // with more archives all others are removed
inline constexpr std::uint32_t kDriverCacheLimitMs = 120'000;

// Returns whether code of a job may have cuDNN launch kernels made from PTX: in a search, or for attention.
bool may_search(const Lease& lease);

// Thread-safe.
class DriverCache {
 public:
  // `driver` is the version of NVIDIA's driver, `arch` the GPU's architecture.
  DriverCache(const std::string& dir, const std::string& driver, const std::string& arch, const Software& software);

  // Returns the folder with the archive, or an empty text if there is no archive yet.
  std::string folder() const;

  struct Maker {
    Zygote& zygote;
    std::string scratch;    // parent of the child's directory
    std::uint32_t uid = 0;  // the user of the child; 0: this process's user
    std::uint64_t host_bytes = 0;
  };
  // Has a child make the archive, which takes about 8 s on 16 processors. Fails after kDriverCacheLimitMs and after a
  // stop.
  Expected<void> make(const Maker& maker, const Lease& lease, const std::stop_token& stop) const;
  // Keeps the archive that a child has left in the directory `out`.
  Expected<void> keep(const std::string& out) const;

 private:
  std::string dir_;
  std::string folder_;
};

}  // namespace kq::worker
