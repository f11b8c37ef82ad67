// Which NVRTC a worker on this machine would find. CUDA is never linked: it is looked for where users have it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/stack/state_folder.h"

namespace kq::tools {

struct NvrtcFound {
  std::string path;
  int major = 0;
  int minor = 0;
};

// libnvrtc.so* under KQ_CUDA, CUDA_HOME, /usr/local/cuda, and the nvidia wheels of KQ_PYTHON's environment, in that
// order. Where KQ_CUDA is set it is the only place.
std::vector<std::filesystem::path> nvrtc_candidates(const Environment& environment);

// Loads the first candidate that loads and asks its version. The Error says what was tried.
Expected<NvrtcFound> find_nvrtc(const Environment& environment);

}  // namespace kq::tools
