// An output file that appears whole or not at all, or standard output.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace kq::tools {

// Returns a name for a file of a run in the current folder: the run with `suffix`, such as "-speedups.svg" or ".html".
// A run may have slashes in its name, and may begin with a dot or a dash.
std::string default_file_name(const std::string& run, const std::string& suffix);

// Returns whether a path has the ending of some kind of file, such as ".txt", but not "v0.2". A folder has none.
bool ends_as_a_file(const std::string& path);

// Writes to the temporary file .NAME.partial beside the target; commit() renames it to the target. Without commit() the
// target stays as it was. A temporary file that a killed process left is overwritten. A lock on the temporary file
// keeps two processes from writing the same target. The path "-" means standard output, which is written directly; so
// is a device or a pipe.
class OutputFile {
 public:
  static Expected<OutputFile> open(std::string path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Expected<void> write(std::string_view text);
  Expected<void> commit();  // flushes the file to disk and gives it its name

 private:
  static Expected<OutputFile> open_in_place(std::string path);
  OutputFile(std::string path, std::string temporary, int fd);
  Expected<void> flush();

  std::string path_;
  std::string temporary_;  // path of the temporary file; empty when there is nothing to rename
  int fd_;
  std::string buffer_;
};

}  // namespace kq::tools
