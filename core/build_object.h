// What a build made, on its way from one worker through the broker to another.
#pragma once

#include <cstddef>
#include <string>

#include "core/bytes/hash.h"
#include "core/device.h"

namespace kq {

inline constexpr std::size_t kObjectBytesMax = 8u << 20;  // packed; a greater one stays where it was built

// `key` is what its builder would find it by (gpu_worker/compile/cache.h): whoever computes another one has no use for
// it. The bytes are opaque to the broker (gpu_worker/compile/object.h) and named by their SHA-256, which every receiver
// checks.
struct BuildObject {
  DeviceKind kind = DeviceKind::cuda;  // what it was built for,
  std::string arch;                    // "sm_90"; empty for a CPU
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
