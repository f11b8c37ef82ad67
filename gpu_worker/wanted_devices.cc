#include "gpu_worker/wanted_devices.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "gpu_worker/machine/visible_gpus.h"

namespace kq::worker {
namespace {

constexpr int kGpusMax = 64;

bool is_gpu(const std::string& name) {
  return name.starts_with("cuda:") && name.size() > 5 && name.size() < 8 &&
         name.find_first_not_of("0123456789", 5) == std::string::npos;
}

std::string name_of(const DeviceId& device) {
  return device.kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    items.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return items;
}

}  // namespace

std::size_t count_gpus() {
  std::size_t gpus = 0;
  for (int i = 0; i < kGpusMax; ++i) {
    std::error_code ignored;
    gpus += std::filesystem::exists("/dev/nvidia" + std::to_string(i), ignored) ? 1 : 0;
  }
  const auto visible = visible_gpus();
  return visible ? std::min(gpus, visible->size()) : gpus;
}

Expected<std::vector<DeviceId>> wanted_devices(const std::string& text, std::size_t gpus) {
  std::vector<DeviceId> all;
  for (std::size_t i = 0; i < gpus; ++i) all.push_back({DeviceKind::cuda, static_cast<int>(i)});
  if (text == "auto") return all.empty() ? std::vector<DeviceId>{{DeviceKind::cpu, 0}} : all;
  std::vector<DeviceId> wanted;
  for (const std::string& name : split_list(text)) {
    if (name == "cpu") {
      wanted.push_back({DeviceKind::cpu, 0});
    } else if (name == "cuda") {
      if (all.empty()) all.push_back({DeviceKind::cuda, 0});  // opening this lane fails with the reason
      wanted.insert(wanted.end(), all.begin(), all.end());
    } else if (is_gpu(name)) {
      wanted.push_back({DeviceKind::cuda, std::stoi(name.substr(5))});
    } else {
      return bad_input("--devices " + text + ": '" + name + "' is none of auto, cpu, cuda, cuda:N");
    }
  }
  for (auto device = wanted.begin(); device != wanted.end(); ++device) {
    if (std::find(wanted.begin(), device, *device) != device)
      return bad_input("--devices " + text + ": " + name_of(*device) + " is there twice, and a device has one lane");
  }
  return wanted;
}

Expected<std::vector<LaneDevices>> lanes_of_devices(const std::vector<DeviceId>& devices, std::uint32_t per_lane) {
  std::vector<LaneDevices> lanes;
  std::vector<int> gpus;
  for (const DeviceId& device : devices) {
    if (device.kind == DeviceKind::cuda) {
      gpus.push_back(device.index);
      if (gpus.size() == per_lane) lanes.push_back({DeviceKind::cuda, std::exchange(gpus, {})});
    } else {
      LaneDevices& cpu = lanes.emplace_back();
      while (cpu.indices.size() < per_lane) cpu.indices.push_back(static_cast<int>(cpu.indices.size()));
    }
  }
  if (gpus.empty()) return lanes;
  const auto count = std::ranges::count(devices, DeviceKind::cuda, &DeviceId::kind);
  return bad_input("--gpus-per-lane " + std::to_string(per_lane) + ": " + std::to_string(count) +
                   (count == 1 ? " GPU does" : " GPUs do") + " not make whole lanes; choose GPUs with --devices");
}

}  // namespace kq::worker
