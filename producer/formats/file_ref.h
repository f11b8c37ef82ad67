// Bytes of a source or problem, in a file or given in place, and what every such text must be.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/error.h"

namespace kq::producer {

struct FileRef {
  std::string name;                 // as the worker sees it: "add.py"
  std::filesystem::path path;       // where it is; of `text`: where that was found
  std::optional<std::string> text;  // the bytes themselves, where they are not a file of their own
};

// A reference to a file under its own name.
FileRef file_ref(const std::filesystem::path& path);

// The text, at most kFileBytesMax of it: not empty, no NUL bytes. The size is looked at before anything is read, and
// nothing that could block, as a pipe does, is opened. Complaints start with the path.
Expected<std::string> contents(const FileRef& file);

// Whether there is a regular file; no error for whatever cannot be looked at.
bool is_file(const std::filesystem::path& path);

}  // namespace kq::producer
