// The bodies of jobs: real source files or random bytes. The first line of a body has the job's number, so that every
// body is unique.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kq::bench {

inline constexpr std::size_t kRandomBodyBytes = 4096;

// Makes the body of each job from its number. The same number always gives the same body.
class Bodies {
 public:
  // `list` is the path of a text file with one path of a source file per line; jobs take the files in turn. With an
  // empty `list`, bodies are random bytes, which no compressor makes smaller. Gives up on a file that cannot be read.
  explicit Bodies(const std::string& list);

  std::string body(std::uint64_t number) const;
  double mean_bytes() const;

  // Returns the number that body() wrote into the first line. Gives up if the first line has none.
  static std::uint64_t number_in(std::string_view body);

 private:
  std::vector<std::string> files_;
  std::string noise_;  // random bodies are pieces of these bytes
};

}  // namespace kq::bench
