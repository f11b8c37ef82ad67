// A buffered TCP connection to a server on this machine. Gives up when the connection fails.
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

  std::string out;  // bytes to send
  void flush();     // sends and clears `out`

  // Reads a line and returns it without its CR LF. Valid until the next read.
  std::string_view line();
  // Reads exactly `n` bytes. Valid until the next read.
  std::string_view bytes(std::size_t n);
  bool has_buffered(std::size_t n) const { return in_.size() - at_ >= n; }
  // Returns whether bytes can be read within `wait_ms`.
  bool readable(int wait_ms) const;
  std::string_view peek() const { return std::string_view(in_).substr(at_); }

 private:
  void fill();

  int fd_ = -1;
  std::string in_;
  std::size_t at_ = 0;  // bytes of `in_` before this position were read
};

}  // namespace kq::bench
