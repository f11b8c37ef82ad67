// The devices of workers, and the requirements of jobs.
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

// The device that a worker offers, or that a result was measured on. A lane of several GPUs is one device here: the
// other members describe its first GPU, and all GPUs of a lane have the same model.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string model;  // "NVIDIA H200", or the model name of the processor
  std::string uuid;   // the UUID of a GPU; empty for a CPU
  std::string arch;   // the architecture that device code is compiled for: "sm_90"; empty for a CPU
  std::uint64_t memory_bytes = 0;
  std::uint32_t device_count = 1;  // the number of GPUs of the lane; of a CPU: as many as the worker says

  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

// The requirements of a job on a worker and its device. Jobs with equal requirements can run on the same devices.
struct Requirements {
  DeviceWish wish = DeviceWish::any;
  std::string gpu_model{};  // empty: any model
  // The device must have more memory than this. It is set for a job that was too large for a device with this much.
  std::uint64_t memory_above_bytes = 0;
  Backend backend = Backend::torch;
  std::vector<std::string> labels{};  // sorted
  std::uint32_t device_count = 1;     // as in Problem

  friend auto operator<=>(const Requirements&, const Requirements&) = default;
};

inline Requirements requirements_of(const Submission& submission) {
  return {.wish = submission.device,
          .gpu_model = submission.gpu_model,
          .memory_above_bytes = 0,
          .backend = submission.backend,
          .labels = submission.labels,
          .device_count = submission.problem.device_count};
}

// Returns whether the device meets the requirements. Backend and labels are properties of the worker, and they are not
// compared here.
inline bool serves(const DeviceInfo& device, const Requirements& needs) {
  if (!needs.gpu_model.empty() && (device.kind != DeviceKind::cuda || device.model != needs.gpu_model)) return false;
  if (device.device_count < needs.device_count) return false;
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
  v("device_count", x.device_count);
}
template <class V>
void fields(V& v, Requirements& x) {
  v("wish", x.wish);
  v("gpu_model", x.gpu_model);
  v("memory_above_bytes", x.memory_above_bytes);
  v("backend", x.backend);
  v("labels", x.labels);
  v("device_count", x.device_count);
}

}  // namespace kq
