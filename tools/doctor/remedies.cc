#include "tools/doctor/remedies.h"

#include <unistd.h>

#include <filesystem>

namespace kq::tools {

Installation installation_of(const std::string& program_folder) {
  namespace fs = std::filesystem;
  if (program_folder == "/usr/bin") return Installation::packages;
  std::error_code ignored;
  const fs::path root = fs::path(program_folder) / "../../..";
  return fs::exists(root / "scripts/setup", ignored) ? Installation::checkout : Installation::tree;
}

std::string torch_remedy(Installation installation) {
  switch (installation) {
    case Installation::packages:
      return "python3 -m venv /opt/kq && /opt/kq/bin/pip install torch triton numpy; then set "
             "KQ_PYTHON=/opt/kq/bin/python here and in /etc/kq/worker.env (python3 -m venv needs: apt-get install "
             "python3-venv)";
    case Installation::checkout:
      return "run scripts/setup, which makes an environment with torch, or name such an environment's python in "
             "KQ_PYTHON";
    case Installation::tree:
      break;
  }
  return "python3 -m venv ENV && ENV/bin/pip install torch triton numpy; then set KQ_PYTHON=ENV/bin/python";
}

std::string program_remedy(Installation installation, const std::string& name) {
  switch (installation) {
    case Installation::packages:
      return "apt-get install ./" + name + "_*.deb";
    case Installation::checkout:
      return "scripts/build " + name;
    case Installation::tree:
      break;
  }
  return "unpack the tree again, as it was made with " + name;
}

std::string compiler_remedy(Installation installation) {
  return installation == Installation::checkout ? "scripts/setup" : "apt-get install g++ python3-dev";
}

std::vector<Finding> missing_programs(const std::string& program_folder) {
  const Installation installation = installation_of(program_folder);
  std::vector<Finding> findings;
  for (const std::string name : {"kq-worker", "kq-broker", "kq-gateway"}) {
    if (::access((program_folder + "/" + name).c_str(), X_OK) == 0) continue;
    const bool is_worker = name == "kq-worker";
    const std::string remedy = program_remedy(installation, name);
    findings.push_back({.what = "program: " + name,
                        .health = is_worker ? Health::bad : Health::good,
                        .found = "not installed",
                        .advice = is_worker ? remedy : "only if it shall run on this host: " + remedy});
  }
  return findings;
}

}  // namespace kq::tools
