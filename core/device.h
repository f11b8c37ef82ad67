// The device a worker offers and a result was measured on.
#pragma once

#include <cstdint>
#include <string>

#include "core/enum_names.h"
#include "core/submission.h"

namespace kq {

enum class DeviceKind { cpu, cuda };
template <>
inline constexpr std::array<std::string_view, 2> kEnumNames<DeviceKind>{"cpu", "cuda"};

struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string model;  // "NVIDIA H200", or the processor's model name
  std::string uuid;   // of a GPU; empty for a CPU
  std::string arch;   // what device code is compiled for, "sm_90"; empty for a CPU
  std::uint64_t memory_bytes = 0;

  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

// Whether a job with this wish may run on that device.
inline bool serves(const DeviceInfo& device, DeviceWish wish, const std::string& gpu_model) {
  if (!gpu_model.empty() && (device.kind != DeviceKind::cuda || device.model != gpu_model)) return false;
  return wish == DeviceWish::any || (wish == DeviceWish::cpu) == (device.kind == DeviceKind::cpu);
}

template <class V> void fields(V& v, DeviceInfo& x) {
  v("kind", x.kind); v("model", x.model); v("uuid", x.uuid); v("arch", x.arch); v("memory_bytes", x.memory_bytes);
}

}  // namespace kq
