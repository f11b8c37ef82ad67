#include "gpu_worker/machine/gpu_watch.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "sys/clock.h"
#include "sys/text_line.h"

namespace kq::worker {
namespace {

constexpr std::uint64_t kSlackBytes = 256ull << 20;  // of the driver's own
constexpr std::chrono::milliseconds kLook{20};

// Graphics engine exception, MMU fault, corrupted push buffer, stopped processing, cleanup after an error, decoder and
// engine class errors, and an error of memory that was contained to one program.
constexpr std::uint64_t kOfPrograms[] = {13, 31, 32, 43, 45, 68, 69, 94};

// nvmlClocksEventReasons, bit by bit.
constexpr std::string_view kThrottleWords[] = {"gpu_idle",
                                               "applications_clocks_setting",
                                               "sw_power_cap",
                                               "hw_slowdown",
                                               "sync_boost",
                                               "sw_thermal_slowdown",
                                               "hw_thermal_slowdown",
                                               "hw_power_brake_slowdown",
                                               "display_clock_setting"};

constexpr int kAncestorsMax = 64;

int parent_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string_view parent = sys::value_of(text, "PPid");
  int number = 0;
  std::from_chars(parent.data(), parent.data() + parent.size(), number);
  return number;
}

// This process, and whatever it or its zygotes forked.
bool is_ours(int pid) {
  for (int i = 0; i < kAncestorsMax && pid > 1; ++i, pid = parent_of(pid)) {
    if (pid == ::getpid()) return true;
  }
  return false;
}

bool is_gone(int pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

bool ends_with_its_program(std::uint64_t xid) {
  return std::find(std::begin(kOfPrograms), std::end(kOfPrograms), xid) != std::end(kOfPrograms);
}

std::string throttle_words(std::uint64_t reasons) {
  std::string words;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((reasons >> bit & 1) == 0) continue;
    char number[24];
    std::snprintf(number, sizeof number, "0x%llx", 1ull << bit);
    if (!words.empty()) words += ",";
    words += bit < std::size(kThrottleWords) ? kThrottleWords[bit] : std::string_view(number);
  }
  return words.empty() ? "none" : words;
}

Cleanliness::Cleanliness(std::unique_ptr<GpuWatch> watch) : watch_(std::move(watch)) {
  if (!watch_) return;
  ownerless_at_first_ = watch_->unowned_bytes();
  (void)watch_->errors();
}

std::optional<std::string> Cleanliness::driver_complaint() {
  if (!watch_) return std::nullopt;
  for (const std::uint64_t xid : watch_->errors()) {
    if (!ends_with_its_program(xid)) return "the driver reports Xid " + std::to_string(xid);
  }
  return std::nullopt;
}

std::optional<std::string> Cleanliness::memory_complaint(std::int64_t limit_ms) const {
  if (!watch_ || !ownerless_at_first_) return std::nullopt;
  const std::int64_t deadline_ms = sys::monotonic_now_ms() + limit_ms;
  for (;;) {
    const auto now = watch_->unowned_bytes();
    if (!now || *now <= *ownerless_at_first_ + kSlackBytes) return std::nullopt;
    if (sys::monotonic_now_ms() >= deadline_ms) {
      return std::to_string((*now - *ownerless_at_first_) >> 20) + " MiB of its memory did not come back within " +
             std::to_string(limit_ms / 1000) + " s";
    }
    std::this_thread::sleep_for(kLook);
  }
}

std::optional<Conditions> Cleanliness::conditions(int judge) {
  if (!watch_) return std::nullopt;
  Conditions now = watch_->conditions();
  const auto all = watch_->processes();
  const auto is_judge = [judge](const GpuProcess& one) { return one.pid == static_cast<std::uint32_t>(judge); };
  if (!all || std::none_of(all->begin(), all->end(), is_judge)) return now;
  now.foreign.emplace();
  for (const GpuProcess& one : *all) {
    const int pid = static_cast<int>(one.pid);
    if (now.foreign->size() < kForeignProcessesMax && !is_ours(pid) && !is_gone(pid)) now.foreign->push_back(one);
  }
  return now;
}

}  // namespace kq::worker
