// A call that can wait: code that blocks, such as the real client, runs on a stack of its own and gives the processor
// back while it waits. One thread, no scheduler: whoever resumes a fiber gets it back at its next wait.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace kq::sim {

class Fiber {
 public:
  // `body` begins with the first resume().
  explicit Fiber(std::function<void()> body);
  // The body has returned: a fiber is not cut off, it is told to end in its own words and resumed.
  ~Fiber();

  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it waits or returns. Never inside a fiber.
  void resume();
  // Inside the body: back to whoever resumed.
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
