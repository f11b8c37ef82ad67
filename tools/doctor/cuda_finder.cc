#include "tools/doctor/cuda_finder.h"

#include <dlfcn.h>

#include <algorithm>

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

void add_libraries(const fs::path& folder, std::vector<fs::path>& found) {
  std::error_code ignored;
  std::vector<fs::path> here;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    // This prefix excludes libnvrtc-builtins.so, which is not the compiler.
    if (entry.path().filename().string().starts_with("libnvrtc.so")) here.push_back(entry.path());
  }
  std::sort(here.begin(), here.end());
  found.insert(found.end(), here.begin(), here.end());
}

void add_toolkit(const fs::path& toolkit, std::vector<fs::path>& found) {
  for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"})
    add_libraries(toolkit / folder, found);
}

// Adds the libraries under .../lib/python3.X/site-packages/nvidia/{cuda_nvrtc,cu13}/lib for the interpreter
// .../bin/python. Symbolic links are not resolved, because an interpreter is often a link to one outside its
// environment.
void add_wheels(const fs::path& python, std::vector<fs::path>& found) {
  std::error_code ignored;
  for (const fs::directory_entry& version :
       fs::directory_iterator(python.parent_path().parent_path() / "lib", ignored)) {
    const fs::path nvidia = version.path() / "site-packages" / "nvidia";
    for (const fs::directory_entry& wheel : fs::directory_iterator(nvidia, ignored))
      add_libraries(wheel.path() / "lib", found);
  }
}

}  // namespace

std::vector<fs::path> nvrtc_candidates(const Environment& environment) {
  std::vector<fs::path> found;
  if (const std::string chosen = environment("KQ_CUDA"); !chosen.empty()) {
    add_toolkit(chosen, found);
    return found;
  }
  if (const std::string home = environment("CUDA_HOME"); !home.empty()) add_toolkit(home, found);
  add_toolkit("/usr/local/cuda", found);
  if (const std::string python = environment("KQ_PYTHON"); !python.empty()) add_wheels(python, found);
  return found;
}

Expected<NvrtcFound> find_nvrtc(const Environment& environment) {
  const std::vector<fs::path> candidates = nvrtc_candidates(environment);
  std::string reasons;
  for (const fs::path& path : candidates) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      reasons += std::string(reasons.empty() ? "" : "; ") + ::dlerror();
      continue;
    }
    using Version = int (*)(int* major, int* minor);
    const auto version = reinterpret_cast<Version>(::dlsym(library, "nvrtcVersion"));
    NvrtcFound found{.path = path.string()};
    // The library is never closed, because it leaves threads and thread-local state behind.
    if (version != nullptr && version(&found.major, &found.minor) == 0) return found;
    reasons += std::string(reasons.empty() ? "" : "; ") + path.string() + " has no nvrtcVersion";
  }
  if (!reasons.empty()) return our_fault("no NVRTC library can be loaded: " + reasons);
  const std::string chosen = environment("KQ_CUDA");
  if (!chosen.empty()) return our_fault("there is no libnvrtc.so under KQ_CUDA=" + chosen);
  return our_fault("there is no libnvrtc.so under CUDA_HOME, /usr/local/cuda or the nvidia packages of KQ_PYTHON");
}

}  // namespace kq::tools
