// A temporary directory for a fuzz target.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/base/check.h"

namespace kq::fuzz {

// Creates the directory, and removes it when the object is destroyed.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "kq-fuzz.XXXXXX").string();
    KQ_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Writes the file with these bytes, or removes it if `is_there` is false.
  void put(const char* name, std::string_view bytes, bool is_there = true) const {
    if (!is_there) {
      std::filesystem::remove(path_ / name);
      return;
    }
    std::ofstream file(path_ / name, std::ios::binary | std::ios::trunc);
    file << bytes;
    KQ_CHECK(file.flush().good());
  }

 private:
  std::filesystem::path path_;
};

}  // namespace kq::fuzz
