// What the jobs hold: real source files, each made unique by a first line with its job's number, or random bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kq::bench {

inline constexpr std::size_t kRandomBodyBytes = 4096;

class Bodies {
 public:
  // `list` is a text file with one path per line; each is one body in turn. Empty: random bytes that nothing
  // compresses.
  explicit Bodies(const std::string& list);

  std::string body(std::uint64_t number) const;
  double mean_bytes() const;

  // The number that body() put into the first line.
  static std::uint64_t number_in(std::string_view body);

 private:
  std::vector<std::string> files_;
  std::string noise_;  // random bodies are windows of it
};

}  // namespace kq::bench
