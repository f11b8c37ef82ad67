// The children of kq that warm up on the device (gpu_worker/channel/warm_up.h) while the judge measures.
#pragma once

#include <cstdint>
#include <utility>

#include "gpu_worker/channel/warm_up.h"

namespace kq::judge {

// The judge's view of the warm-ups that run at the same time as its measurements.
class ConcurrentWarmUps {
 public:
  // The control process gives a child up whose part takes longer than a minute (gpu_worker/lane/children.h), so wait()
  // need not wait longer.
  explicit ConcurrentWarmUps(channel::WarmUpPage page, std::int64_t wait_max_ns = 60'000'000'000)
      : page_(std::move(page)), wait_max_ns_(wait_max_ns) {}

  channel::WarmUpPage& page() { return page_; }
  // Returns whether a warm-up runs now.
  bool any() const { return page_.any_running(); }
  // What a look at the page has shown.
  struct Seen {
    std::uint32_t begun = 0;  // WarmUpPage::begun(), read before the flags, which are set before it is counted up
    bool is_running = false;
  };
  Seen look() const {
    const std::uint32_t begun = page_.begun();
    return {begun, page_.any_running()};
  }
  // Returns whether a warm-up has run at any time since.
  bool has_run_since(const Seen& seen) const {
    return seen.is_running || page_.any_running() || page_.begun() != seen.begun;
  }
  // Waits until no warm-up runs, at most wait_max_ns.
  void wait() const;

 private:
  channel::WarmUpPage page_;
  std::int64_t wait_max_ns_;
};

}  // namespace kq::judge
