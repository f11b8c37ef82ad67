#include "gpu_worker/machine/host.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/limits.h"
#include "sys/cores.h"
#include "sys/text_line.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileReadMax = 64u << 10;  // enough for the first processor in /proc/cpuinfo

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileReadMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

// Returns the first line, cut to the length that names in a result may have.
std::string first_line(std::string_view text) {
  text = text.substr(0, std::min(text.find('\n'), kNameBytesMax));
  return std::string(text);
}

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == text.back() && (text.front() == '"' || text.front() == '\''))
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::string distro(const fs::path& root) {
  for (const char* file : {"etc/os-release", "usr/lib/os-release"}) {
    const std::string text = text_of(root / file);
    if (const auto name = sys::value_of(text, "PRETTY_NAME", '='); !name.empty()) return unquoted(name);
  }
  return {};
}

// Returns the first word of digits and dots, "580.65.06" in
// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build".
std::string version_in(std::string_view line) {
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    if (word.find('.') != std::string_view::npos && word.find_first_not_of("0123456789.") == std::string_view::npos)
      return std::string(word);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return {};
}

std::string driver(const fs::path& root) {
  if (std::string version = first_line(text_of(root / "sys/module/nvidia/version")); !version.empty()) return version;
  return version_in(first_line(sys::value_of(text_of(root / "proc/driver/nvidia/version"), "NVRM version")));
}

std::string container(const fs::path& root, const Environment& environment) {
  if (!environment("KUBERNETES_SERVICE_HOST").empty()) return "kubernetes";
  std::error_code ignored;
  if (fs::exists(root / ".dockerenv", ignored)) return "docker";
  if (fs::exists(root / "run/.containerenv", ignored)) return "podman";
  if (!environment("APPTAINER_CONTAINER").empty()) return "apptainer";
  return first_line(environment("container"));  // systemd-nspawn, lxc
}

// Schedulers and the environment variable in which each gives a job's id.
constexpr std::pair<const char*, const char*> kSchedulers[] = {
    {"slurm", "SLURM_JOB_ID"},
    {"pbs", "PBS_JOBID"},
    {"lsf", "LSB_JOBID"},
    {"sge", "JOB_ID"},
};

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc() ? number : UINT64_MAX;
}

// Returns the smallest limit from a group up to the root of its hierarchy. A container may see its own group as the
// root and yet read the group's path on the host from /proc: a group that does not exist here counts as unlimited.
std::uint64_t least_limit(const fs::path& hierarchy, const std::string& group, const char* file) {
  fs::path path = fs::path(group).relative_path().lexically_normal();
  if (path.empty() || path.string().starts_with(".")) path.clear();
  std::uint64_t least = UINT64_MAX;
  for (;; path = path.parent_path()) {
    least = std::min(least, number_in(text_of(hierarchy / path / file)));
    if (path.empty()) return least;
  }
}

}  // namespace

std::uint64_t usable_memory_bytes(const fs::path& root) {
  const std::uint64_t kib = number_in(sys::value_of(text_of(root / "proc/meminfo"), "MemTotal"));
  std::uint64_t least = kib == UINT64_MAX ? 0 : kib << 10;
  // A line is "0::/path" for cgroup version 2 and "4:cpu,memory:/path" for version 1.
  std::istringstream groups(text_of(root / "proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, least_limit(root / "sys/fs/cgroup", group, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, least_limit(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

Host host_below(const fs::path& root, const Environment& environment) {
  Host host{.cpu = first_line(sys::value_of(text_of(root / "proc/cpuinfo"), "model name")),
            .governor = first_line(text_of(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
            .distro = distro(root),
            .driver = driver(root),
            .container = container(root, environment)};
  for (const auto& [name, variable] : kSchedulers) {
    if (host.scheduler.empty() && !environment(variable).empty()) {
      host.scheduler = name;
      host.scheduled_as = first_line(environment(variable));
    }
  }
  if (host.scheduler.empty() && host.container == "kubernetes") {
    host.scheduler = "kubernetes";
    host.scheduled_as = first_line(environment("HOSTNAME"));  // the name of the pod
  }
  return host;
}

Host this_host() {
  Host host = host_below("/", [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  });
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  host.name = name;
  host.cores = sys::usable_cores();
  if (utsname names{}; ::uname(&names) == 0) host.kernel = names.release;
  host.libc = std::string("glibc ") + ::gnu_get_libc_version();
  return host;
}

}  // namespace kq::worker
