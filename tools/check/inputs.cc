#include "tools/check/inputs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "core/limits.h"
#include "sys/error_text.h"
#include "tools/cli/text.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

// Decides by the name alone, so that libraries in a folder are skipped: they are checked only when the user names them.
bool is_source(const fs::path& path) {
  return language_of(path.filename().string(), "").has_value();
}

bool is_skipped_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with('.') || name == "__pycache__" || name == "node_modules";
}

Expected<void> find_in_folder(const fs::path& folder, std::vector<InputFile>& found) {
  std::vector<std::string> here;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
  while (!error && entry != end) {
    if (entry->is_directory(error) && is_skipped_folder(entry->path())) entry.disable_recursion_pending();
    if (entry->is_regular_file(error) && is_source(entry->path())) here.push_back(entry->path().string());
    if (found.size() + here.size() > kInputFilesMax) {
      return bad_input(printable(folder.string()) + ": more than " + std::to_string(kInputFilesMax) +
                       " files; name a smaller folder");
    }
    entry.increment(error);
  }
  if (error) return bad_input(printable(folder.string()) + ": " + error.message());
  std::sort(here.begin(), here.end());
  for (std::string& path : here) found.push_back({.path = std::move(path)});
  return {};
}

}  // namespace

Expected<std::vector<InputFile>> find_inputs(const std::vector<std::string>& paths) {
  std::vector<InputFile> found;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path == "-") {
      found.push_back({.path = path, .is_named = true});
    } else if (fs::is_directory(path, error)) {
      KQ_TRY(find_in_folder(path, found));
    } else if (fs::exists(path, error)) {
      found.push_back({.path = path, .is_named = true});
    } else {
      return bad_input("there is no file " + printable(path));
    }
  }
  return found;
}

Expected<std::string> read_input(const std::string& path, std::size_t bytes_max) {
  std::string bytes;
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file || fs::is_directory(path))
      return bad_input(std::string("cannot be read: ") + sys::error_text(errno != 0 ? errno : EISDIR));
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::vector<char> buffer(1 << 16);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    bytes.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (bytes.size() > bytes_max)
      return bad_input("is larger than " + std::to_string(bytes_max) + " bytes, the limit for a file of a submission");
  }
  if (in.bad()) return bad_input("cannot be read");
  return bytes;
}

std::vector<CheckInput> headers_beside(const std::string& path) {
  std::vector<CheckInput> found;
  std::error_code error;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (found.size() == kHeadersMax) break;
    if (!is_header(entry.path().string()) || !entry.is_regular_file(error)) continue;
    if (auto bytes = read_input(entry.path().string(), kFileBytesMax))
      found.push_back({.path = entry.path().filename().string(), .bytes = std::move(*bytes)});
  }
  std::sort(found.begin(), found.end(), [](const CheckInput& a, const CheckInput& b) { return a.path < b.path; });
  return found;
}

}  // namespace kq::tools
