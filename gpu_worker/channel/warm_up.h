// A page of memory that the worker and its judge share about children's warm-ups, which is their CUDA context
// initialisation and the loading of kernels.
//
// Theory of operation. The worker marks in the page which warm-ups run on the lane's device, and the judge marks when
// nothing that runs is timed. While a CUDA context is made the driver stops the device for moments, so a few timed
// calls take longer: the judge goes on and repeats calls that ran beside a warm-up (judge/trial/trials.h). The loading
// of kernels takes longer and lengthens calls, so it begins only while nothing is timed. The judge also marks when it
// prepares its trials: mapping memory and loading code then wait for the driver, so no child is killed meanwhile, whose
// context the driver would have to destroy.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/error.h"
#include "sys/fd.h"

namespace kq::channel {

// Places for warm-ups that may run at the same time.
inline constexpr std::size_t kWarmUpsMax = 9;

// The mapped page. Each field is atomic.
class WarmUpPage {
 public:
  static Expected<WarmUpPage> make();
  // Maps the page of another process by its descriptor.
  static Expected<WarmUpPage> map(sys::Fd file);
  WarmUpPage(WarmUpPage&& other) noexcept;
  WarmUpPage& operator=(WarmUpPage&& other) noexcept;
  ~WarmUpPage();

  int fd() const { return file_.get(); }
  // `place` is below kWarmUpsMax.
  void set_running(std::size_t place, bool running) {
    page_->running[place].store(running ? 1 : 0);
    if (running) ++page_->begun;
  }
  bool is_running(std::size_t place) const { return page_->running[place].load() != 0; }
  bool any_running() const {
    return std::ranges::any_of(page_->running, [](const auto& flag) { return flag.load() != 0; });
  }
  // How many times a place has been marked as running. Two readings differ where a part of a warm-up began between
  // them, even if it has ended since.
  std::uint32_t begun() const { return page_->begun.load(); }
  // The judge prepares its trials, or calibrates after them.
  void set_preparing(bool preparing) { page_->preparing.store(preparing ? 1 : 0); }
  bool is_preparing() const { return page_->preparing.load() != 0; }
  // Nothing is timed: there is no job, or it loads, or its outputs are checked. True until the judge says otherwise.
  void set_untimed(bool untimed) { page_->timed.store(untimed ? 0 : 1); }
  bool is_untimed() const { return page_->timed.load() == 0; }

 private:
  struct Page {
    std::array<std::atomic<std::int32_t>, kWarmUpsMax> running;
    std::atomic<std::uint32_t> begun;
    std::atomic<std::int32_t> preparing;
    std::atomic<std::int32_t> timed;
  };
  WarmUpPage(sys::Fd file, Page* page) : file_(std::move(file)), page_(page) {}
  sys::Fd file_;
  Page* page_ = nullptr;
};
static_assert(std::atomic<std::int32_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// Sets a mark of the page from its construction to its destruction, and then to the opposite. Does nothing for null.
class ScopedMark {
 public:
  using Set = void (WarmUpPage::*)(bool);  // set_preparing or set_untimed
  ScopedMark(WarmUpPage* page, Set set, bool value) : page_(page), set_(set), value_(value) { apply(value_); }
  ~ScopedMark() { apply(!value_); }
  ScopedMark(const ScopedMark&) = delete;
  ScopedMark& operator=(const ScopedMark&) = delete;

 private:
  void apply(bool value) const {
    if (page_ != nullptr) (page_->*set_)(value);
  }
  WarmUpPage* page_;
  Set set_;
  bool value_;
};

}  // namespace kq::channel
