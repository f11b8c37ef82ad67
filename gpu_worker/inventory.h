// What a worker on this machine would have: its devices, its sandbox, its compilers. `kq-worker --self-test` prints it
// for kq-doctor.
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
  std::vector<DeviceInfo> devices;  // that could be opened
  std::vector<std::string>
      failures;  // one sentence for each that could not, for a zygote that does not start, for a sandbox with a way out
  Software software;
  std::string sandbox;  // layers in force, "uid,user,pid"; empty where no zygote started
  std::vector<Backend> backends;
};

// Opens each lane, starts its zygote and tests the sandbox (escape_check.h), then ends all of them.
Inventory take_inventory(const std::vector<LaneOptions>& lanes);

inline constexpr std::string_view kNoSandbox =
    "no sandbox can be had here: jobs would run as this user, with its files and its network; run kq-worker as root, "
    "or allow user namespaces (kq doctor says more), "
    "or accept it with --insecure-no-sandbox";

// Why a worker would not start here; nothing where it would. Where no zygote started, what kept it says why, and of
// sandboxes nothing is known.
std::optional<std::string> complaint_of(const Inventory& inventory, bool is_insecure);

// Whether nothing but limits lies between a job and this machine.
bool is_without_sandbox(const std::string& layers);

// One JSON object on a line: {"kq", "devices": [...], "failures": [...], "software": {...}, "sandbox": [...],
// "sandbox_missing": [...], "backends": [...]}.
std::string to_json(const Inventory& inventory);

}  // namespace kq::worker
