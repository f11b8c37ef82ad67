// Finds the NVRTC library that a worker on this machine would use. kq does not link CUDA; it searches the places where
// users install it.
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

// Returns the files libnvrtc.so* under CUDA_HOME, /usr/local/cuda, and the nvidia packages in the environment of
// KQ_PYTHON, in that order. When KQ_CUDA is set, only that folder is searched.
std::vector<std::filesystem::path> nvrtc_candidates(const Environment& environment);

// Loads the candidates in order and returns the first that loads, with its version. The Error lists what was tried.
Expected<NvrtcFound> find_nvrtc(const Environment& environment);

}  // namespace kq::tools
