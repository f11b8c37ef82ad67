#include "gpu_worker/judge/device/memory_speed.h"

#include <algorithm>

namespace kq::judge {

void MemorySpeed::add(std::int64_t write_ns) {
  last_ns_ = write_ns;
  if (write_ns <= 0) return;
  kept_[device_findings_++ % kSamplesKept] = write_ns;
  if (device_findings_ % kSamplesMin != 0) return;
  auto sorted = kept_;
  const std::size_t count = std::min(device_findings_, kSamplesKept);
  const auto quarter = sorted.begin() + static_cast<std::ptrdiff_t>((count - 1) / 4);
  std::nth_element(sorted.begin(), quarter, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  usual_ns_ = *quarter;
}

double MemorySpeed::slowness() const {
  return usual_ns_ == 0 || last_ns_ <= 0 ? 1 : static_cast<double>(last_ns_) / static_cast<double>(usual_ns_);
}

}  // namespace kq::judge
