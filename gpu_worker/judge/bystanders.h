// The processes that make themselves warm on the device (gpu_worker/warming.h), stopped while the judge measures.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "gpu_worker/warming.h"

namespace kq::judge {

class Bystanders {
 public:
  explicit Bystanders(Warming warming) : warming_(std::move(warming)) {}

  // Another attempt, with new patience.
  void begin_attempt();
  Warming& warming() { return warming_; }
  // Until nobody is there, as long as the attempt's patience lasts.
  void wait();
  // Does `work` over and over meanwhile, or until it says that there is no more to do.
  void wait(const std::function<bool()>& work);
  // Waits, and stops who is there then. Returns once none of their threads runs; what they have asked the driver for is finished then. One that does not stop in time goes on.
  void stop();
  void go_on();
  // How often somebody was.
  std::uint64_t stops() const { return stops_; }
  // Whether there are any.
  bool any() const;

 private:
  Warming warming_;
  std::vector<std::int32_t> stopped_;
  std::uint64_t stops_ = 0;
  std::int64_t patience_ns_ = 0;  // what is left of it in this attempt
};

// Stopped for as long as this lives.
class Quiet {
 public:
  explicit Quiet(Bystanders* bystanders) : bystanders_(bystanders) {
    if (bystanders_ != nullptr) bystanders_->stop();
  }
  ~Quiet() {
    if (bystanders_ != nullptr) bystanders_->go_on();
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  Bystanders* bystanders_;
};

}  // namespace kq::judge
