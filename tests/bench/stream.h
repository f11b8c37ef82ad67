// A buffered TCP connection to a server on this machine. Anything unexpected gives up.
#pragma once

#include <string>
#include <string_view>

namespace kq::bench {

class Stream {
 public:
  explicit Stream(int port);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  std::string out;  // grows until flush()
  void flush();

  // Up to CR LF, which is eaten; valid until the next read.
  std::string_view line();
  // Exactly that many bytes; valid until the next read.
  std::string_view bytes(std::size_t n);
  bool has_buffered(std::size_t n) const { return in_.size() - at_ >= n; }
  // Whether something can be read within that time.
  bool readable(int wait_ms) const;
  std::string_view peek() const { return std::string_view(in_).substr(at_); }

 private:
  void fill();

  int fd_ = -1;
  std::string in_;
  std::size_t at_ = 0;  // what is before it was read
};

}  // namespace kq::bench
