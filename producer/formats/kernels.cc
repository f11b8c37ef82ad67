#include "producer/formats/kernels.h"

#include <algorithm>
#include <vector>

#include "producer/formats/single_file.h"

namespace kq {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> kernels_in(const fs::path& folder) {
  std::vector<fs::path> kernels;
  std::error_code wrong;
  for (fs::directory_iterator entry(folder, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    if (!why_single_file(entry->path()).empty()) kernels.push_back(entry->path());
  }
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

}  // namespace

std::string why_kernels(const fs::path& input) {
  const std::vector<fs::path> kernels = kernels_in(input);
  return kernels.empty() ? "" : "it holds " + kernels.front().filename().string();
}

void read_kernels(const fs::path& input, const InputOptions& options, const Finds& finds) {
  for (const fs::path& kernel : kernels_in(input)) {
    if (finds.stopped()) return;
    read_single_file(kernel, options, finds);
  }
}

}  // namespace kq
