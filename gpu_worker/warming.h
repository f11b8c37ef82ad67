// Which processes are making themselves warm on a lane's device: what control tells the judge through a page of memory that both have.
//
// Making a CUDA context takes 0.05 to 0.1 s in which the device answers others late: a null call took 0.25 ms more beside it
// (H200). So the judge waits for them, or stops them while an interval is measured (judge/bystanders.h); whoever waits for a child lets it go on.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/error.h"
#include "gpu_worker/fd.h"

namespace kq {

// As many at once.
inline constexpr std::size_t kWarmingMax = 4;

class Warming {
 public:
  static Expected<Warming> make();
  // The other end's, of its descriptor.
  static Expected<Warming> map(Fd file);
  Warming(Warming&& other) noexcept;
  Warming& operator=(Warming&& other) noexcept;
  ~Warming();

  int fd() const { return file_.get(); }
  // `at` is one of kWarmingMax places; 0: nobody is there.
  void set(std::size_t at, std::int32_t process) { (*processes_)[at].store(process); }
  std::int32_t process(std::size_t at) const { return (*processes_)[at].load(); }

 private:
  using Processes = std::array<std::atomic<std::int32_t>, kWarmingMax>;
  Warming(Fd file, Processes* processes) : file_(std::move(file)), processes_(processes) {}
  Fd file_;
  Processes* processes_ = nullptr;
};
static_assert(std::atomic<std::int32_t>::is_always_lock_free);

}  // namespace kq
