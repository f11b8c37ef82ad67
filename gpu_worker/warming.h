// Which processes are making themselves warm on a lane's device: what control tells the judge through a page of memory that both have; and what the
// judge tells control there, that nobody should begin now.
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
  void set(std::size_t at, std::int32_t process) { page_->processes[at].store(process); }
  std::int32_t process(std::size_t at) const { return page_->processes[at].load(); }
  // The judge calibrates: all that it does then must wait for whoever makes himself warm, while a moment later there is work that need not.
  void set_calibrating(bool is) { page_->is_calibrating.store(is ? 1 : 0); }
  bool is_calibrating() const { return page_->is_calibrating.load() != 0; }

 private:
  struct Page {
    std::array<std::atomic<std::int32_t>, kWarmingMax> processes;
    std::atomic<std::int32_t> is_calibrating;
  };
  Warming(Fd file, Page* page) : file_(std::move(file)), page_(page) {}
  Fd file_;
  Page* page_ = nullptr;
};
static_assert(std::atomic<std::int32_t>::is_always_lock_free);

// For as long as this lives; null: nobody is told.
class Calibrating {
 public:
  explicit Calibrating(Warming* warming) : warming_(warming) {
    if (warming_ != nullptr) warming_->set_calibrating(true);
  }
  ~Calibrating() {
    if (warming_ != nullptr) warming_->set_calibrating(false);
  }
  Calibrating(const Calibrating&) = delete;
  Calibrating& operator=(const Calibrating&) = delete;

 private:
  Warming* warming_;
};

}  // namespace kq
