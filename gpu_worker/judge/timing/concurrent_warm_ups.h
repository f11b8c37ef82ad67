// The children of kq that warm up on the device (gpu_worker/channel/warm_up.h) while the judge measures.
#pragma once

#include <cstdint>
#include <utility>

#include "gpu_worker/channel/warm_up.h"

namespace kq::judge {

// The judge's view of the warm-ups that run at the same time as its measurements.
class ConcurrentWarmUps {
 public:
  // The control process gives a child up that is not ready after a minute (gpu_worker/lane/children.h), so wait() need
  // not wait longer.
  explicit ConcurrentWarmUps(channel::WarmUpPage page, std::int64_t wait_max_ns = 60'000'000'000)
      : page_(std::move(page)), wait_max_ns_(wait_max_ns) {}

  channel::WarmUpPage& page() { return page_; }
  // Returns whether a warm-up runs now.
  bool any() const { return page_.any_running(); }
  // As WarmUpPage::begun().
  std::uint32_t begun() const { return page_.begun(); }
  // Waits until no warm-up runs, at most wait_max_ns.
  void wait() const;

 private:
  channel::WarmUpPage page_;
  std::int64_t wait_max_ns_;
};

}  // namespace kq::judge
