#include "producer/client/standard_output.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <streambuf>
#include <utility>

#include "core/base/error.h"
#include "sys/descriptors.h"
#include "sys/error_text.h"

namespace kq::producer {

// A stream buffer that keeps the error number of the first failed write, which the standard streams do not keep.
class StandardOutput::Buffer final : public std::streambuf {
 public:
  explicit Buffer(int descriptor) : descriptor_(descriptor), is_terminal_(::isatty(descriptor) == 1) { empty(); }

  int error() const { return error_; }

 private:
  std::streamsize xsputn(const char* text, std::streamsize n) override {
    const std::streamsize put = std::streambuf::xsputn(text, n);
    if (is_terminal_ && std::memchr(text, '\n', static_cast<std::size_t>(n)) != nullptr) sync();
    return put;
  }

  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }

  int sync() override {
    for (const char* at = pbase(); error_ == 0 && at < pptr();) {
      const ssize_t done = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
      if (done < 0 && errno != EINTR) error_ = errno;
      if (done > 0) at += done;
    }
    empty();
    return error_ == 0 ? 0 : -1;
  }

  void empty() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  const int descriptor_;
  const bool is_terminal_;
  int error_ = 0;  // the error number of the first failed write
  std::array<char, 64u << 10> bytes_;
};

StandardOutput::StandardOutput(std::string program, int descriptor)
    : program_(std::move(program)),
      buffer_(std::make_unique<Buffer>(descriptor)),
      before_(std::cout.rdbuf(buffer_.get())) {
  sys::open_standard_descriptors();
}

StandardOutput::~StandardOutput() {
  std::cout.flush();
  std::cout.rdbuf(before_);
}

int StandardOutput::end(int code) {
  std::cout.flush();
  if (buffer_->error() == 0 || buffer_->error() == EPIPE) return code;
  std::cerr << program_ << ": cannot write standard output: " << sys::error_text(buffer_->error()) << '\n';
  return static_cast<int>(ExitCode::our_fault);
}

}  // namespace kq::producer
