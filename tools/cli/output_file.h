// A file that appears whole or not at all, or standard output.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace kq::tools {

// Writes beside the target, to .NAME.partial, and takes its place in commit(); without commit() the target stays as it
// was. What a killed process left there is written over; two at once may not write the same. "-" is standard output,
// where what is written is out at once and a reader that has left ends the program quietly.
class OutputFile {
 public:
  static Expected<OutputFile> open(std::string path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Expected<void> write(std::string_view text);
  Expected<void> commit();  // on disk when this returns

 private:
  static Expected<OutputFile> open_in_place(std::string path);
  OutputFile(std::string path, std::string temporary, int fd);
  Expected<void> flush();

  std::string path_;
  std::string temporary_;  // empty: nothing to rename, or committed
  int fd_;
  std::string buffer_;
};

}  // namespace kq::tools
