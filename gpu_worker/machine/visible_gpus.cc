#include "gpu_worker/machine/visible_gpus.h"

#include <cstdlib>
#include <sstream>

namespace kq::worker {

std::optional<std::vector<std::string>> visible_gpus() {
  const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return std::nullopt;
  std::vector<std::string> entries;
  std::istringstream list(text);
  // CUDA ignores a negative index and everything behind it.
  for (std::string entry; std::getline(list, entry, ',') && !entry.starts_with('-');) entries.push_back(entry);
  return entries;
}

std::string gpu_selector(int index) {
  const auto visible = visible_gpus();
  const auto at = static_cast<std::size_t>(index);
  return visible && at < visible->size() ? (*visible)[at] : std::to_string(index);
}

}  // namespace kq::worker
