// What a worker finds on this machine: devices, sandbox layers and compilers. `kq-worker --self-test` prints it for
// kq-doctor.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/result.h"
#include "gpu_worker/lane/lane.h"

namespace kq::worker {

struct Inventory {
  std::vector<DeviceInfo> devices;    // that could be opened
  std::vector<std::string> failures;  // one sentence for each device, zygote or sandbox that failed
  Software software;
  std::string sandbox;  // the layers in force, "uid,user,pid"; empty if no zygote has started
  std::vector<Backend> backends;
  // Why a triton kernel with a loop does not run (lane/triton_check.h); empty: it does. No value where it was not
  // tried.
  std::optional<std::string> triton_loop = std::nullopt;
};

// Opens each lane, starts its zygote, tests its sandbox (lane/escape_check.h) and triton (lane/triton_check.h), then
// closes it.
Inventory take_inventory(const std::vector<LaneOptions>& lanes);

inline constexpr std::string_view kNoSandbox =
    "this machine allows no sandbox: jobs would run as this user, with its files and its network; run kq-worker as "
    "root, "
    "or allow user namespaces (kq doctor says more), "
    "or accept it with --insecure-no-sandbox";

// Returns why a worker cannot start on this machine, or nothing. The sandbox counts only if a zygote has started,
// because its layers are unknown otherwise.
std::optional<std::string> startup_failure(const Inventory& inventory, bool is_insecure);

// Whether the layers have nothing but resource limits.
bool lacks_sandbox(const std::string& layers);

// One JSON object on a line: {"kq", "devices": [...], "failures": [...], "software": {...}, "sandbox": [...],
// "sandbox_missing": [...], "backends": [...], "triton_loop": ""}.
std::string to_json(const Inventory& inventory);

}  // namespace kq::worker
