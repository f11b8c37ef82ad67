// The children of ours that make themselves warm on the device (gpu_worker/warming.h) while the judge measures.
#pragma once

#include "gpu_worker/warming.h"

namespace kq::judge {

class Bystanders {
 public:
  explicit Bystanders(Warming warming) : warming_(std::move(warming)) {}

  Warming& warming() { return warming_; }
  // Whether there are any now.
  bool any() const { return warming_.any(); }
  // Until there are none; a minute at most, after which a child is given up (gpu_worker/children.h).
  void wait() const;

 private:
  Warming warming_;
};

}  // namespace kq::judge
