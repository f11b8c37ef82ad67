// References to source and problem files, and the checks that the content of each must pass.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/error.h"

namespace kq::producer {

// A source or problem: a file on disk, or a text that another file contains.
struct FileRef {
  std::string name;                 // the name on the worker: "add.py"
  std::filesystem::path path;       // the path of the file; for `text`, the place where the text was found
  std::optional<std::string> text;  // the content, where it is not a file of its own
  bool is_problem = false;          // the content includes the files that it reads (problem_folder.h)
};

// Return a reference to a file under its own name.
FileRef file_ref(const std::filesystem::path& path);
FileRef problem_ref(const std::filesystem::path& path);

// Returns the content. Fails with bad input where it is empty, has more than kFileBytesMax bytes, or has NUL bytes
// (which a .cubin may have). The function checks the size before it reads, and opens nothing that could block, such as
// a pipe. Error texts start with the path.
Expected<std::string> contents(const FileRef& file);

// Returns whether the content has nothing but blanks and ends of lines. A file that cannot be read is not blank.
bool is_blank(const FileRef& file);

// Returns whether the path is a regular file. A path that cannot be inspected is none.
bool is_file(const std::filesystem::path& path);

}  // namespace kq::producer
