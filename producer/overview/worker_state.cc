#include "producer/overview/worker_state.h"

namespace kq::producer {

std::string_view state_of(const WorkerStatus& worker, std::int64_t now_ms) {
  if (worker.devices.empty() && !worker.quarantined.empty()) return "quarantined";
  if (now_ms - worker.last_seen_ms > kSilentMs) return "silent";
  if (worker.draining) return "draining";
  return worker.running > 0 ? "busy" : "idle";
}

int rank_of(const WorkerStatus& worker, std::int64_t now_ms) {
  const std::string_view state = state_of(worker, now_ms);
  if (state == "idle") return 3;
  if (state == "busy") return worker.quarantined.empty() ? 2 : 0;
  return state == "draining" ? 1 : 0;
}

std::string model_of(const DeviceInfo& device) {
  const std::string model = device.model.empty() ? std::string(to_string(device.kind)) : device.model;
  return device.device_count == 1 ? model : "lane of " + std::to_string(device.device_count) + " " + model;
}

}  // namespace kq::producer
