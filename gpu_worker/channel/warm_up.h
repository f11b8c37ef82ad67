// Whether children are making themselves warm on a lane's device, or one is ending: what control tells the judge
// through a page of memory that both have; and what the judge tells control there, that nobody should begin now.
//
// While a CUDA context is made, 50 to 90 ms, the driver stops the device for a moment some ten to twenty times: of the
// calls that are timed meanwhile as many take 30 to 250 us longer, all others as long as ever (H200). So the judge goes
// on beside them, and has those calls made again (judge/trials.h). But whoever maps memory or loads code then waits for
// the driver, so none begins while the judge prepares its trials, unless the next job would find no child.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/error.h"
#include "sys/fd.h"

namespace kq::channel {

// As many at once.
inline constexpr std::size_t kWarmUpsMax = 5;

class WarmUpPage {
 public:
  static Expected<WarmUpPage> make();
  // The other end's, of its descriptor.
  static Expected<WarmUpPage> map(sys::Fd file);
  WarmUpPage(WarmUpPage&& other) noexcept;
  WarmUpPage& operator=(WarmUpPage&& other) noexcept;
  ~WarmUpPage();

  int fd() const { return file_.get(); }
  // At one of kWarmUpsMax places.
  void set_running(std::size_t at, bool is_there) { page_->children[at].store(is_there ? 1 : 0); }
  bool is_running(std::size_t at) const { return page_->children[at].load() != 0; }
  bool any_running() const {
    return std::ranges::any_of(page_->children, [](const auto& child) { return child.load() != 0; });
  }
  // The judge prepares its trials, or calibrates behind them.
  void set_preparing(bool is) { page_->is_preparing.store(is ? 1 : 0); }
  bool is_preparing() const { return page_->is_preparing.load() != 0; }

 private:
  struct Page {
    std::array<std::atomic<std::int32_t>, kWarmUpsMax> children;
    std::atomic<std::int32_t> is_preparing;
  };
  WarmUpPage(sys::Fd file, Page* page) : file_(std::move(file)), page_(page) {}
  sys::Fd file_;
  Page* page_ = nullptr;
};
static_assert(std::atomic<std::int32_t>::is_always_lock_free);

// For as long as this lives; null: nobody is told.
class ScopedPreparing {
 public:
  explicit ScopedPreparing(WarmUpPage* warming) : warming_(warming) {
    if (warming_ != nullptr) warming_->set_preparing(true);
  }
  ~ScopedPreparing() {
    if (warming_ != nullptr) warming_->set_preparing(false);
  }
  ScopedPreparing(const ScopedPreparing&) = delete;
  ScopedPreparing& operator=(const ScopedPreparing&) = delete;

 private:
  WarmUpPage* warming_;
};

}  // namespace kq::channel
