// Finds and reads the files that kq-check checks: named files, all sources in named folders, and standard input.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/check/checker.h"

namespace kq::tools {

inline constexpr std::size_t kInputFilesMax = 100'000;
inline constexpr std::size_t kLibraryBytesMax = 256u << 20;
inline constexpr std::size_t kHeadersMax = 64;  // at most so many headers in the folder of a source are read

struct InputFile {
  std::string path;
  bool is_named = false;  // whether the user named the file, instead of a folder that contains it
};

// Returns the files, sorted within each folder. Bad input for a missing path, or for too many files.
Expected<std::vector<InputFile>> find_inputs(const std::vector<std::string>& paths);

// Reads a file, or standard input for "-". Bad input when it is larger than `bytes_max` or cannot be read.
Expected<std::string> read_input(const std::string& path, std::size_t bytes_max);

// Reads the headers in the folder of a C++ source.
std::vector<CheckInput> headers_beside(const std::string& path);

}  // namespace kq::tools
