// Which files kq-check is asked about: named files, everything in named folders that is a source, and standard input.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/check/checker.h"

namespace kq::tools {

inline constexpr std::size_t kInputFilesMax = 100'000;
inline constexpr std::size_t kLibraryBytesMax = 256u << 20;
inline constexpr std::size_t kHeadersMax = 64;  // of one folder that sources there may include

struct InputFile {
  std::string path;
  bool is_named = false;  // by the user, not found in a folder
};

// Sorted within each folder. Bad input for a path that is not there, or too many files.
Expected<std::vector<InputFile>> find_inputs(const std::vector<std::string>& paths);

// At most `bytes_max` bytes; a capitalized where it is larger or cannot be read.
Expected<std::string> read_input(const std::string& path, std::size_t bytes_max);

// The headers beside a C++ source.
std::vector<CheckInput> headers_beside(const std::string& path);

}  // namespace kq::tools
