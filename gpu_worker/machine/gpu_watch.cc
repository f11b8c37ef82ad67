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

constexpr std::uint64_t kSlackBytes = 256ull << 20;  // the driver's own memory varies by this much
constexpr std::chrono::milliseconds kPollInterval{20};

// Graphics engine exception, MMU fault, corrupted push buffer, stopped processing, cleanup after an error, decoder and
// engine class errors, and an error of memory that was contained to one program.
constexpr std::uint64_t kProgramErrors[] = {13, 31, 32, 43, 45, 68, 69, 94};

// nvmlClocksEventReasons, bit by bit.
constexpr std::string_view kThrottleNames[] = {"gpu_idle",
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

// Whether a process is this one or one of its descendants.
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

bool is_program_error(std::uint64_t xid) {
  return std::find(std::begin(kProgramErrors), std::end(kProgramErrors), xid) != std::end(kProgramErrors);
}

std::string throttle_names(std::uint64_t reasons) {
  std::string names;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((reasons >> bit & 1) == 0) continue;
    char number[24];
    std::snprintf(number, sizeof number, "0x%llx", 1ull << bit);
    if (!names.empty()) names += ",";
    names += bit < std::size(kThrottleNames) ? kThrottleNames[bit] : std::string_view(number);
  }
  return names.empty() ? "none" : names;
}

DeviceHealth::DeviceHealth(std::unique_ptr<GpuWatch> watch) : watch_(std::move(watch)) {
  if (!watch_) return;
  initial_unowned_bytes_ = watch_->unowned_bytes();
  (void)watch_->errors();
}

std::optional<std::string> DeviceHealth::driver_error() {
  if (!watch_) return std::nullopt;
  for (const std::uint64_t xid : watch_->errors()) {
    if (!is_program_error(xid)) return "the driver reports Xid " + std::to_string(xid);
  }
  return std::nullopt;
}

std::optional<std::string> DeviceHealth::unreturned_memory(std::int64_t limit_ms) const {
  if (!watch_ || !initial_unowned_bytes_) return std::nullopt;
  const std::int64_t deadline_ms = sys::monotonic_now_ms() + limit_ms;
  for (;;) {
    const auto now = watch_->unowned_bytes();
    if (!now || *now <= *initial_unowned_bytes_ + kSlackBytes) return std::nullopt;
    if (sys::monotonic_now_ms() >= deadline_ms) {
      return std::to_string((*now - *initial_unowned_bytes_) >> 20) + " MiB of its memory were not freed within " +
             std::to_string(limit_ms / 1000) + " s";
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

std::optional<Conditions> DeviceHealth::conditions(int judge) {
  if (!watch_) return std::nullopt;
  Conditions now = watch_->conditions();
  const auto all = watch_->processes();
  const auto is_judge = [judge](const GpuProcess& process) { return process.pid == static_cast<std::uint32_t>(judge); };
  if (!all || std::none_of(all->begin(), all->end(), is_judge)) return now;
  now.foreign.emplace();
  for (const GpuProcess& process : *all) {
    const int pid = static_cast<int>(process.pid);
    if (now.foreign->size() < kForeignProcessesMax && !is_ours(pid) && !is_gone(pid)) now.foreign->push_back(process);
  }
  return now;
}

}  // namespace kq::worker
