// The standard output of a program. A write error, such as a full disk, is reported once, at the end of main().
#pragma once

#include <memory>
#include <streambuf>
#include <string>

namespace kq::producer {

// Opens those standard descriptors that are closed (sys/descriptors.h), replaces the buffer of std::cout for its
// lifetime, and writes to a descriptor. It is the first object in main(),
// whose last line is `return output.end(code)`.
class StandardOutput {
 public:
  explicit StandardOutput(std::string program, int descriptor = 1);
  ~StandardOutput();

  // Writes the buffered text and returns `code`. Where any write failed, it reports the error on standard error and
  // returns ExitCode::our_fault. A reader that closed the pipe, such as `head`, is no error.
  int end(int code);

 private:
  class Buffer;
  std::string program_;
  std::unique_ptr<Buffer> buffer_;
  std::streambuf* before_;
};

}  // namespace kq::producer
