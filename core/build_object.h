// A build artifact on its way from the worker that built it through the broker to another worker.
#pragma once

#include <cstddef>
#include <string>

#include "core/bytes/hash.h"
#include "core/device.h"

namespace kq {

// The largest artifact that is sent, in packed bytes; a larger one stays on the worker that built it.
inline constexpr std::size_t kObjectBytesMax = 8u << 20;

// The artifact of one build. `key` is its key in the build cache of the worker that built it
// (gpu_worker/compile/cache.h); a worker that computes another key for the same job cannot use the artifact. The broker
// does not read the bytes (gpu_worker/compile/object.h). Every receiver compares their SHA-256 with `hash`.
struct BuildObject {
  DeviceKind kind = DeviceKind::cuda;  // the kind of device that the artifact is built for
  std::string arch;                    // the architecture of that device: "sm_90"; empty for a CPU
  Hash key;
  Hash hash;
  std::string bytes;

  friend bool operator==(const BuildObject&, const BuildObject&) = default;
};

template <class V>
void fields(V& v, BuildObject& x) {
  v("kind", x.kind);
  v("arch", x.arch);
  v("key", x.key);
  v("hash", x.hash);
  v("bytes", x.bytes);
}

}  // namespace kq
