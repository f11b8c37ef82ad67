// Whether the device's memory is as fast as usual, measured by the judge's own writes before each call.
//
// Theory of operation. When a process has exited, the driver clears its memory with copy engines, beside whatever else
// runs: after 70 GB this takes 0.18 s, in which a memory-bound kernel takes 12 % longer (H100). A kernel is slowed down
// in the same way while another process copies. No interface reports either. The judge sees it by the time that the
// device takes to write as many bytes as its cache holds, which is the same work before every call. Without such load
// half of these times lie within 2 % of each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace kq::judge {

// The number of write times that are kept: those of some jobs, so that the usual time follows a device that changes.
inline constexpr std::size_t kSamplesKept = 1024;
// With fewer write times there is no usual time.
inline constexpr std::size_t kSamplesMin = 64;

// A slowness above this ratio is no chance where most of many calls have it.
inline constexpr double kSlowMemoryRatio = 1.05;

// The write times of one device.
class MemorySpeed {
 public:
  // Adds a write time; 0 where this one could not be measured.
  void add(std::int64_t write_ns);
  // Returns the last write time divided by the usual one, which is the lower quartile of those kept. Returns 1 where
  // the last one was not measured or there is no usual time yet.
  double slowness() const;

 private:
  std::array<std::int64_t, kSamplesKept> kept_{};
  std::size_t device_findings_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t usual_ns_ = 0;
};

}  // namespace kq::judge
