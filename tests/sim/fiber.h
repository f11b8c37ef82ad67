// Runs code that blocks, such as the real client, on a stack of its own, so that it can wait for simulated time.
//
// There is one thread and no scheduler: resume() switches to the fiber's stack and returns when the fiber waits or
// ends.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace kq::sim {

// A function call that can be suspended and resumed.
class Fiber {
 public:
  // `body` starts with the first resume().
  explicit Fiber(std::function<void()> body);
  // Requires is_done(). A body cannot be aborted: the owner must tell it to return and resume it.
  ~Fiber();

  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it waits or returns. Must not be called inside a fiber.
  void resume();
  // Called by the body: suspends it and returns control to the caller of resume().
  void wait();
  bool is_done() const { return is_done_; }

 private:
  static void begin(unsigned high, unsigned low);
  void leave(bool for_good);

  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  bool is_done_ = false;
  void* inside_shadow_ = nullptr;  // for AddressSanitizer, which must know each stack
  const void* outside_stack_ = nullptr;
  std::size_t outside_bytes_ = 0;
};

}  // namespace kq::sim
