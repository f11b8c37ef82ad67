#include "gpu_worker/inventory.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/version.h"
#include "gpu_worker/child/sandbox/sandbox.h"
#include "gpu_worker/lane/escape_check.h"
#include "gpu_worker/lane/triton_check.h"

namespace kq::worker {
namespace {

using nlohmann::json;

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    items.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return items;
}

json as_json(const DeviceInfo& device) {
  return {{"kind", to_string(device.kind)},
          {"model", device.model},
          {"uuid", device.uuid},
          {"arch", device.arch},
          {"memory_bytes", device.memory_bytes},
          {"device_count", device.device_count}};
}

}  // namespace

Inventory take_inventory(const std::vector<LaneOptions>& lanes) {
  Inventory inventory;
  for (const LaneOptions& options : lanes) {
    const auto lane = Lane::open(options);
    if (!lane) {
      inventory.failures.push_back(lane.error().message);
      continue;
    }
    inventory.devices.push_back((*lane)->device());
    const auto zygote = (*lane)->zygote();
    if (!zygote) {
      inventory.failures.push_back(zygote.error().message);
      continue;
    }
    inventory.software = (*zygote)->software();
    inventory.sandbox = (*zygote)->sandbox();
    inventory.backends = (*zygote)->backends();
    if (lacks_sandbox(inventory.sandbox)) continue;
    if (const auto tested = test_sandbox(**lane, options.zygote.harness); !tested)
      inventory.failures.push_back(tested.error().message);
    if (!inventory.software.triton.empty()) inventory.triton_loop = test_triton_loop(**lane, options.zygote.harness);
  }
  return inventory;
}

std::optional<std::string> startup_failure(const Inventory& inventory, bool is_insecure) {
  const bool is_known = !inventory.sandbox.empty();
  if (is_known && !is_insecure && lacks_sandbox(inventory.sandbox)) return std::string(kNoSandbox);
  if (!inventory.failures.empty()) return inventory.failures.front();
  return std::nullopt;
}

bool lacks_sandbox(const std::string& layers) {
  const auto names = split_list(layers);
  return std::all_of(names.begin(), names.end(),
                     [](const std::string& name) { return name == "rlimits" || name == "watchdog"; });
}

std::string to_json(const Inventory& inventory) {
  json devices = json::array(), backends = json::array(), missing = json::array();
  for (const DeviceInfo& device : inventory.devices) devices.push_back(as_json(device));
  for (const Backend backend : inventory.backends) backends.push_back(to_string(backend));
  const auto layers = split_list(inventory.sandbox);
  std::vector<std::string_view> all(sandbox::kLayerNames.begin(), sandbox::kLayerNames.end());
  all.push_back("cgroup");  // harness/sandbox/cgroup.py
  for (const std::string_view layer : all) {
    if (std::find(layers.begin(), layers.end(), layer) == layers.end()) missing.push_back(layer);
  }
  const Software& software = inventory.software;
  json object{
      {"kq", kVersion},
      {"devices", devices},
      {"failures", inventory.failures},
      {"software",
       {{"python", software.python}, {"torch", software.torch}, {"triton", software.triton}, {"cuda", software.cuda}}},
      {"sandbox", layers},
      {"sandbox_missing", missing},
      {"backends", backends}};
  if (inventory.triton_loop) object["triton_loop"] = *inventory.triton_loop;
  return object.dump() + "\n";
}

}  // namespace kq::worker
