#include "producer/formats/kernels.h"

#include <algorithm>
#include <vector>

#include "producer/formats/single_file.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

// Returns the kernels in the order of their names. A path with the name of a kernel that is no regular file, such as a
// broken link or a pipe, is included, so that reading it reports the error. Hidden ones are not included, because some
// editors mark an open file by a hidden broken link.
std::vector<fs::path> kernels_in(const fs::path& folder) {
  std::vector<fs::path> kernels;
  std::error_code wrong;
  for (fs::directory_iterator entry(folder, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    std::error_code ignored;
    const bool is_odd = is_named_as_kernel(entry->path()) && !fs::is_directory(entry->path(), ignored) &&
                        !entry->path().filename().string().starts_with('.');
    if (is_odd || !recognise_single_file(entry->path()).empty()) kernels.push_back(entry->path());
  }
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

}  // namespace

std::string recognise_kernels(const fs::path& input) {
  const std::vector<fs::path> kernels = kernels_in(input);
  return kernels.empty() ? "" : "it holds " + kernels.front().filename().string();
}

void read_kernels(const fs::path& input, const InputOptions& options, const CandidateSink& sink) {
  for (const fs::path& kernel : kernels_in(input)) {
    if (sink.stopped()) return;
    if (!is_file(kernel)) {
      if (const auto text = contents(file_ref(kernel)); !text) {
        sink.left_out();
        sink.mistake(text.error().message);
        continue;
      }
    }
    read_single_file(kernel, options, sink);
  }
}

}  // namespace kq::producer
