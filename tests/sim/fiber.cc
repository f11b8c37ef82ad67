#include "tests/sim/fiber.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace kq::sim {
namespace {

constexpr std::size_t kStackBytes = 256u << 10;

void before_switch([[maybe_unused]] void** keep, [[maybe_unused]] const void* stack, [[maybe_unused]] std::size_t n) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(keep, stack, n);
#endif
}

void after_switch([[maybe_unused]] void* kept, [[maybe_unused]] const void** stack, [[maybe_unused]] std::size_t* n) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(kept, stack, n);
#endif
}

// The stacks of ended fibers, which the next fibers use again, because a new stack costs page faults.
std::vector<std::unique_ptr<std::byte[]>>& spare_stacks() {
  thread_local std::vector<std::unique_ptr<std::byte[]>> spare;
  return spare;
}

std::unique_ptr<std::byte[]> take_stack() {
  auto& spare = spare_stacks();
  if (spare.empty()) return std::unique_ptr<std::byte[]>(new std::byte[kStackBytes]);
  auto stack = std::move(spare.back());
  spare.pop_back();
  return stack;
}

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(take_stack()) {
  KQ_CHECK(::getcontext(&inside_) == 0);
  inside_.uc_stack.ss_sp = stack_.get();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);  // makecontext passes nothing wider than an int
  ::makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::begin), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
}

Fiber::~Fiber() {
  KQ_CHECK(is_done_);
  spare_stacks().push_back(std::move(stack_));
}

void Fiber::begin(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(high) << 32 | low);
  after_switch(nullptr, &self->outside_stack_, &self->outside_bytes_);
  self->body_();
  self->leave(true);
}

void Fiber::resume() {
  KQ_CHECK(!is_done_);
  void* shadow = nullptr;
  before_switch(&shadow, stack_.get(), kStackBytes);
  KQ_CHECK(::swapcontext(&outside_, &inside_) == 0);
  after_switch(shadow, nullptr, nullptr);
}

void Fiber::wait() {
  leave(false);
  after_switch(inside_shadow_, &outside_stack_, &outside_bytes_);
}

void Fiber::leave(bool for_good) {
  is_done_ = for_good;
  before_switch(for_good ? nullptr : &inside_shadow_, outside_stack_, outside_bytes_);
  KQ_CHECK(::swapcontext(&inside_, &outside_) == 0);
}

}  // namespace kq::sim
