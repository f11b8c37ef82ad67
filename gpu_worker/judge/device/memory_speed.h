// Whether the memory of the device is as quick as it usually is, by what the judge itself writes before each call.
//
// Theory of operation. The driver clears what a process had of the memory once that process is gone, with copy engines,
// beside whatever runs: after 70 GB for 0.18 s, in which a kernel that lives of the memory takes 12 % longer (H100). So
// does one beside which somebody else copies. Nothing tells of it, and it is seen by the time that the device takes to
// write as many bytes as its cache has, again and again the same work. In the quiet half of these times lie within 2 %
// of one another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kq::judge {

inline constexpr std::size_t kSamplesKept = 1024;  // some jobs of them: what is usual follows a device that changes
inline constexpr std::size_t kSamplesMin = 64;     // before that nothing is usual

// Slower than this is no chance, where it is so in most of many.
inline constexpr double kSlowMemoryRatio = 1.05;

class MemorySpeed {
 public:
  // 0: it was not seen, this time.
  void add(std::int64_t write_ns);
  // How long the last one took by what is usual, which is what a quarter of those kept were no longer than; 1 while
  // nothing is known.
  double slowness() const;

 private:
  std::array<std::int64_t, kSamplesKept> kept_{};
  std::size_t seen_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t usual_ns_ = 0;
};

}  // namespace kq::judge
