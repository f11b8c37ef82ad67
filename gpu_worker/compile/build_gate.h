// Lets a build that needs much memory run while no other build does.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "gpu_worker/compile/key_locks.h"

namespace kq::worker {

// A lock that many compiles hold together, or one compile holds alone. A compile that wants to be alone goes before
// compiles that come later.
class BuildGate {
 public:
  enum class Kind { together, alone };

  // Holds the gate until its destruction.
  class Pass {
   public:
    Pass(BuildGate& gate, Kind kind, const BuildTime& time);  // waits while there is time; may end without the gate
    ~Pass();
    bool is_held() const { return is_held_; }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    BuildGate& gate_;
    const Kind kind_;
    bool is_held_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t together_ = 0;
  bool is_alone_ = false;
  std::size_t waiting_alone_ = 0;
};

}  // namespace kq::worker
