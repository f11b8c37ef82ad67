// For tests: a child on a thread of this process. It speaks the channel as an honest child does, unless its script does
// something else.
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/child/exits.h"
#include "sys/fd.h"

namespace kq::judge {

// Exits that a test reports with tell().
class FakeExits : public Exits {
 public:
  void tell(ChildRole role, int wait_status) {
    const std::lock_guard lock(mutex_);
    exits_[role] = wait_status;
  }
  void forget(ChildRole role) {
    const std::lock_guard lock(mutex_);
    exits_.erase(role);
  }
  Expected<std::optional<int>> exit_of(ChildRole role, std::int64_t) override {
    const std::lock_guard lock(mutex_);
    if (is_control_gone) return our_fault("control is gone");
    const auto exit = exits_.find(role);
    return exit == exits_.end() ? std::nullopt : std::optional(exit->second);
  }

  std::atomic<bool> is_control_gone = false;

 private:
  std::mutex mutex_;
  std::map<ChildRole, int> exits_;
};

// What a script gets when a command has come. If the script does nothing, the answer is Status::ok.
struct FakeTurn {
  channel::Page& page;
  channel::Command command;
  std::uint64_t seed;
  char* window;  // mapped; null before attach
  std::uint64_t window_bytes;
  bool answers = true;  // false: the child never answers again
  bool ends = false;    // true: the thread returns without an answer

  void say(std::string_view text) {
    page.text_bytes = static_cast<std::uint32_t>(text.size());
    std::memcpy(page.text, text.data(), text.size());
  }
  void fail(channel::Failure failure, std::string_view text) {
    page.status = channel::Status::failed;
    page.failure = failure;
    say(text);
  }
};

class FakeChild {
 public:
  using Script = std::function<void(FakeTurn&)>;

  explicit FakeChild(Script script)
      : script_(std::move(script)), ends_(std::move(*sys::packet_pair())), thread_([this] { run(); }) {}
  ~FakeChild() {
    is_over_ = true;
    thread_.join();
  }

  sys::Fd take_socket() { return std::move(ends_.first); }

 private:
  void run() {
    const auto page = receive_map('P', sizeof(channel::Page));
    if (page == nullptr) return;
    auto& shared = *static_cast<channel::Page*>(page);
    for (std::uint32_t n = 1; !is_over_; ++n) {
      if (!wait_for(shared, n)) break;
      if (!turn(shared, n)) break;
    }
    if (window_ != nullptr) ::munmap(window_, window_bytes_);
    ::munmap(page, sizeof(channel::Page));
  }

  bool wait_for(channel::Page& page, std::uint32_t n) {
    for (;;) {
      const std::uint32_t seen = std::atomic_ref(page.go).load(std::memory_order_acquire);
      if (seen == n) return true;
      if (is_over_) return false;
      const timespec slice{0, 1'000'000};
      ::syscall(SYS_futex, &page.go, FUTEX_WAIT, seen, &slice, nullptr, 0);
    }
  }

  bool turn(channel::Page& page, std::uint32_t n) {
    page.status = channel::Status::ok;
    page.failure = channel::Failure::none;
    page.text_bytes = 0;
    if (page.command == channel::Command::attach) {
      if (window_ != nullptr) ::munmap(window_, window_bytes_);
      window_bytes_ = page.window_bytes;
      window_ = receive_map('W', window_bytes_);
    }
    FakeTurn turn{page, page.command, page.seed, static_cast<char*>(window_), window_bytes_};
    const bool has_own_window = page.command == channel::Command::truth || page.command == channel::Command::check;
    if (has_own_window) turn.window = static_cast<char*>(receive_map('W', turn.window_bytes = page.window_bytes));
    script_(turn);
    if (has_own_window) ::munmap(turn.window, turn.window_bytes);
    if (turn.ends) return false;
    if (!turn.answers) {
      while (!is_over_) ::usleep(500);
      return false;
    }
    std::uint32_t before = n - 1;  // the script may have counted an answer itself
    std::atomic_ref(page.done).compare_exchange_strong(before, n);
    ::syscall(SYS_futex, &page.done, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return true;
  }

  void* receive_map(char byte, std::size_t bytes) {
    while (!is_over_) {
      const auto packet = sys::receive_packet(ends_.second.get(), 1);
      if (!packet) return nullptr;
      if (!*packet) continue;
      if ((*packet)->bytes != std::string_view(&byte, 1) || (*packet)->fds.size() != 1) return nullptr;
      void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (*packet)->fds[0].get(), 0);
      return at == MAP_FAILED ? nullptr : at;
    }
    return nullptr;
  }

  Script script_;
  std::pair<sys::Fd, sys::Fd> ends_;
  std::atomic<bool> is_over_ = false;
  void* window_ = nullptr;
  std::uint64_t window_bytes_ = 0;
  std::thread thread_;
};

}  // namespace kq::judge
