// The children of ours that make themselves warm on the device (gpu_worker/channel/warm_up.h) while the judge measures.
#pragma once

#include <cstdint>
#include <utility>

#include "gpu_worker/channel/warm_up.h"

namespace kq::judge {

class Bystanders {
 public:
  // A child that is not warm after a minute is given up (gpu_worker/lane/children.h), so nobody is waited for longer.
  explicit Bystanders(channel::WarmUpPage warming, std::int64_t patience_ns = 60'000'000'000)
      : warming_(std::move(warming)), patience_ns_(patience_ns) {}

  channel::WarmUpPage& warming() { return warming_; }
  // Whether there are any now.
  bool any() const { return warming_.any_running(); }
  // Until there are none, or patience ends.
  void wait() const;

 private:
  channel::WarmUpPage warming_;
  std::int64_t patience_ns_;
};

}  // namespace kq::judge
