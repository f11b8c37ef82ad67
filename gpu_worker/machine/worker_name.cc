#include "gpu_worker/machine/worker_name.h"

namespace kq::worker {

std::string default_worker_name(const NameSources& sources) {
  if (!sources.key.empty()) return sources.key;
  std::string name = sources.host.empty() ? "worker" : sources.host;
  if (!sources.compile_for.empty()) {
    std::string targets;
    for (const std::string& target : sources.compile_for) targets += (targets.empty() ? "" : ",") + target;
    return name + ":builds:" + targets;
  }
  return sources.devices == "auto" ? name : name + ":" + sources.devices;
}

}  // namespace kq::worker
