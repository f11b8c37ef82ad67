#include "gpu_worker/lane/profile.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "core/limits.h"
#include "gpu_worker/machine/scratch.h"
#include "sys/printable.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMetricsBytesMax = 1u << 20;          // metrics.json
constexpr std::size_t kFileBytesMaxOfProfile = 256u << 20;  // each file that is kept
constexpr std::uintmax_t kOutBytesMax = 1ull << 30;         // all files of a child together
constexpr std::size_t kOutFilesMax = 64;
constexpr std::uintmax_t kFreePart = 20;  // files are kept only while a 20th of the disk is free
constexpr std::uint32_t kCallLimitMs = 300'000;
// The files that are kept, beside report.1.ncu-rep, report.2.ncu-rep, ... of the further benchmarks of an eval program.
constexpr const char* kFiles[] = {"report.ncu-rep", "details.txt", "metrics.csv", "metrics.json", "profiler.log"};

std::vector<std::string> places_of_ncu() {
  std::vector<std::string> places;
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string named = variable("KQ_NCU"); !named.empty()) return {named};
  std::istringstream path(variable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (!folder.empty()) places.push_back(folder + "/ncu");
  }
  for (const char* name : {"KQ_CUDA", "CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string toolkit = variable(name); !toolkit.empty()) places.push_back(toolkit + "/bin/ncu");
  }
  places.emplace_back("/usr/local/cuda/bin/ncu");
  std::error_code ignored;
  for (fs::directory_iterator version("/opt/nvidia/nsight-compute", ignored), end; !ignored && version != end;
       version.increment(ignored)) {
    places.push_back(version->path().string() + "/ncu");
  }
  return places;
}

// Makes a text usable as a file name: a label may hold anything but control characters.
std::string file_name_of(std::string text) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.';
  };
  std::ranges::replace_if(
      text, [&](char c) { return !is_plain(c); }, '_');
  if (text.starts_with('.')) text.front() = '_';
  return text;
}

std::string text_at(const nlohmann::json& object, const char* name, std::size_t bytes_max) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? sys::printable(found->get<std::string>(), bytes_max)
                                                     : std::string();
}

KernelProfile kernel_of(const nlohmann::json& object) {
  KernelProfile kernel{.kernel = text_at(object, "kernel", kMessageTextMax / 4), .metrics = {}};
  const auto metrics = object.find("metrics");
  if (metrics == object.end() || !metrics->is_object()) return kernel;
  for (const auto& [name, value] : metrics->items()) {
    if (!value.is_number() || name_error(name)) continue;
    if (kernel.metrics.size() == kProfileMetricsMax) break;
    kernel.metrics.push_back({name, value.get<double>()});
  }
  return kernel;
}

Profile profile_of(const std::string& text) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (!parsed.is_object()) return {.message = "the profiler ended before it had written its metrics"};
  Profile profile{.tool = text_at(parsed, "tool", kNameBytesMax),
                  .message = text_at(parsed, "message", kMessageTextMax)};
  const auto kernels = parsed.find("kernels");
  if (kernels == parsed.end() || !kernels->is_array()) return profile;
  for (const auto& kernel : *kernels) {
    if (profile.kernels.size() == kProfiledKernelsMax) break;
    if (kernel.is_object()) profile.kernels.push_back(kernel_of(kernel));
  }
  return profile;
}

struct KeptFiles {
  std::string directory;
  std::string too_large = {};  // the first file that was not kept because of its size
};

Expected<KeptFiles> keep_files(const std::string& out, const std::string& parent, const Lease& lease) {
  const fs::path directory = fs::path(parent) / file_name_of(lease.run) /
                             (file_name_of(lease.submission.label) + "-" + std::to_string(lease.id.seq) + "-" +
                              std::to_string(lease.id.attempt));
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return our_fault("cannot make " + directory.string() + ": " + error.message());
  if (const auto space = fs::space(directory, error); !error && space.available < space.capacity / kFreePart) {
    return our_fault("no room for the profile's files in " + directory.string() +
                     ": less than a twentieth of the disk is free");
  }
  KeptFiles kept{.directory = directory.string()};
  std::vector<std::string> names(std::begin(kFiles), std::end(kFiles));
  for (std::size_t i = 1; i < kOutFilesMax; ++i) names.push_back("report." + std::to_string(i) + ".ncu-rep");
  for (const std::string& name : names) {
    const auto bytes = read_child_file(out + "/" + name, kFileBytesMaxOfProfile + 1);
    if (!bytes) continue;
    if (bytes->size() > kFileBytesMaxOfProfile) {  // a truncated report would be useless
      if (kept.too_large.empty()) kept.too_large = name;
      continue;
    }
    std::ofstream file(directory / name, std::ios::binary | std::ios::trunc);
    if (!file.write(bytes->data(), static_cast<std::streamsize>(bytes->size())).flush())
      return our_fault("cannot write " + (directory / name).string());
  }
  return kept;
}

}  // namespace

std::string find_ncu() {
  const std::vector<std::string> places = places_of_ncu();
  const auto found = std::ranges::find_if(
      places, [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0 && !fs::is_directory(path); });
  return found == places.end() ? std::string() : *found;
}

Trials profile_trials() {
  return {.correctness = 1, .warmup = 1, .timed = 0};
}

Limits profile_limits(Limits limits) {
  limits.call_limit_ms = std::max(limits.call_limit_ms, kCallLimitMs);
  limits.bursts = Bursts::never;
  return limits;
}

bool is_overflowing(const std::string& out) {
  std::error_code error;
  std::uintmax_t bytes = 0;
  std::size_t files = 0;
  for (fs::recursive_directory_iterator entry(out, fs::directory_options::skip_permission_denied, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->symlink_status(ignored).type() == fs::file_type::regular) bytes += entry->file_size(ignored);
    if (++files > kOutFilesMax || bytes > kOutBytesMax) return true;
  }
  return false;
}

Profile collect_profile(const std::string& out, const std::string& parent, const Lease& lease) {
  const auto text = read_child_file(out + "/metrics.json", kMetricsBytesMax);
  Profile profile = profile_of(text ? *text : std::string());
  const auto kept = keep_files(out, parent, lease);
  if (kept) profile.directory = kept->directory;
  if (!profile.message.empty()) return profile;
  if (!kept) profile.message = kept.error().message;
  if (kept && !kept->too_large.empty())
    profile.message =
        kept->too_large + " was not kept: it is larger than " + std::to_string(kFileBytesMaxOfProfile >> 20) + " MiB";
  return profile;
}

}  // namespace kq::worker
