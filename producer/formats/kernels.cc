#include "producer/formats/kernels.h"

#include <algorithm>
#include <vector>

#include "producer/formats/single_file.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

// In the order of their names. What is named as a kernel and is no file, a link to nothing or a pipe, is one: reading
// it says what is wrong. Hidden ones are not: an editor marks a file that it has open by a link to nothing.
std::vector<fs::path> kernels_in(const fs::path& folder) {
  std::vector<fs::path> kernels;
  std::error_code wrong;
  for (fs::directory_iterator entry(folder, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    std::error_code ignored;
    const bool is_odd = is_named_as_kernel(entry->path()) && !fs::is_directory(entry->path(), ignored) &&
                        !entry->path().filename().string().starts_with('.');
    if (is_odd || !why_single_file(entry->path()).empty()) kernels.push_back(entry->path());
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
    if (!is_file(kernel)) {
      if (const auto text = contents(file_ref(kernel)); !text) {
        finds.left_out();
        finds.mistake(text.error().message);
        continue;
      }
    }
    read_single_file(kernel, options, finds);
  }
}

}  // namespace kq::producer
