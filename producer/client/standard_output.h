// What a program prints, and whether it could be printed. A full disk behind standard output is noticed in one place,
// at the end of main().
#pragma once

#include <memory>
#include <streambuf>
#include <string>

namespace kq::producer {

// While it lives, std::cout is written to the descriptor through it. Make it first in main(), whose last line is
// `return output.end(code)`.
class StandardOutput {
 public:
  explicit StandardOutput(std::string program, int descriptor = 1);
  ~StandardOutput();

  // Writes what waits. `code`; where something could not be written that is said on standard error, and the answer
  // is 3. A reader that has left
  // (`| head`) has seen what it wanted: nothing is said of it.
  int end(int code);

 private:
  class Buffer;
  std::string program_;
  std::unique_ptr<Buffer> buffer_;
  std::streambuf* before_;
};

}  // namespace kq::producer
