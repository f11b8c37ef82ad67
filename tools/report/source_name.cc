#include "tools/report/source_name.h"

#include <filesystem>

namespace kq::tools {

std::string source_name(const SourceOptions& options) {
  if (options.store.empty()) return options.broker;
  const std::filesystem::path path = std::filesystem::path(options.store).lexically_normal();
  return "the store " + (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace kq::tools
