// The device a worker offers and a result was measured on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/submission.h"

namespace kq {

enum class DeviceKind { cpu, cuda };
constexpr std::array<std::string_view, 2> enum_names(DeviceKind) {
  return {"cpu", "cuda"};
}

struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string model;  // "NVIDIA H200", or the processor's model name
  std::string uuid;   // of a GPU; empty for a CPU
  std::string arch;   // what device code is compiled for, "sm_90"; empty for a CPU
  std::uint64_t memory_bytes = 0;

  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

// What a job asks of a worker and its device. Jobs with equal requirements can run in the same places.
struct Requirements {
  DeviceWish wish = DeviceWish::any;
  std::string gpu_model{};               // empty: any
  std::uint64_t memory_above_bytes = 0;  // set for a job that was too large for a device with as much
  Backend backend = Backend::torch;
  std::vector<std::string> labels{};  // sorted

  friend auto operator<=>(const Requirements&, const Requirements&) = default;
};

inline Requirements requirements_of(const Submission& submission) {
  return {.wish = submission.device,
          .gpu_model = submission.gpu_model,
          .memory_above_bytes = 0,
          .backend = submission.backend,
          .labels = submission.labels};
}

// Whether the device alone is good enough; backend and labels are the worker's.
inline bool serves(const DeviceInfo& device, const Requirements& needs) {
  if (!needs.gpu_model.empty() && (device.kind != DeviceKind::cuda || device.model != needs.gpu_model)) return false;
  if (needs.memory_above_bytes != 0 && device.memory_bytes <= needs.memory_above_bytes) return false;
  return needs.wish == DeviceWish::any || (needs.wish == DeviceWish::cpu) == (device.kind == DeviceKind::cpu);
}

template <class V>
void fields(V& v, DeviceInfo& x) {
  v("kind", x.kind);
  v("model", x.model);
  v("uuid", x.uuid);
  v("arch", x.arch);
  v("memory_bytes", x.memory_bytes);
}
template <class V>
void fields(V& v, Requirements& x) {
  v("wish", x.wish);
  v("gpu_model", x.gpu_model);
  v("memory_above_bytes", x.memory_above_bytes);
  v("backend", x.backend);
  v("labels", x.labels);
}

}  // namespace kq
