#include "gpu_worker/judge/bystanders.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "gpu_worker/judge/child.h"

namespace kq::judge {
namespace {

constexpr std::int64_t kSettleNs = 200'000;         // for what it had queued on the GPU
constexpr std::int64_t kStopLimitNs = 500'000'000;  // one request to the driver takes up to some 0.1 s
// Of one attempt. A context is there after 60 ms, if it is let; stopped and let go on a hundred times it takes three times as long, and each of the
// intervals 0.6 ms more (H200).
constexpr std::int64_t kPatienceNs = 200'000'000;
constexpr timespec kNap{0, 50'000};

// Whether that thread is stopped, or gone: `R` in "4711 (python3) R 1 ...", behind the last bracket, because a name may hold any.
bool is_still(const std::string& stat_file) {
  const Fd file(::open(stat_file.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[512];
  const ssize_t n = file ? ::read(file.get(), bytes, sizeof bytes) : -1;
  if (n <= 0) return true;
  const std::string_view text(bytes, static_cast<std::size_t>(n));
  const std::size_t end = text.rfind(')');
  if (end == std::string_view::npos || end + 2 >= text.size()) return true;
  const char state = text[end + 2];
  return state == 'T' || state == 't' || state == 'Z' || state == 'X';
}

bool is_stopped(std::int32_t process) {
  std::error_code gone;
  for (std::filesystem::directory_iterator thread("/proc/" + std::to_string(process) + "/task", gone), end; !gone && thread != end; thread.increment(gone)) {
    if (!is_still(thread->path().string() + "/stat")) return false;
  }
  return true;
}

}  // namespace

void Bystanders::begin_attempt() { patience_ns_ = kPatienceNs; }

void Bystanders::wait() {
  wait([] {
    ::nanosleep(&kNap, nullptr);
    return true;
  });
}

void Bystanders::wait(const std::function<bool()>& work) {
  const std::int64_t asked_ns = clock_ns();
  while (any() && clock_ns() - asked_ns < patience_ns_ && work()) {
  }
  patience_ns_ -= clock_ns() - asked_ns;
}

void Bystanders::stop() {
  wait();
  for (std::size_t at = 0; at < kWarmingMax; ++at) {
    const std::int32_t process = warming_.process(at);
    if (process > 0 && ::kill(process, SIGSTOP) == 0) stopped_.push_back(process);
  }
  if (stopped_.empty()) return;
  ++stops_;
  const std::int64_t start_ns = clock_ns();
  while (!std::ranges::all_of(stopped_, is_stopped) && clock_ns() - start_ns < kStopLimitNs) {
  }
  const std::int64_t settled_ns = clock_ns() + kSettleNs;
  while (clock_ns() < settled_ns) {
  }
}

bool Bystanders::any() const {
  for (std::size_t at = 0; at < kWarmingMax; ++at) {
    if (warming_.process(at) > 0) return true;
  }
  return false;
}

void Bystanders::go_on() {
  for (const std::int32_t process : stopped_) ::kill(process, SIGCONT);
  stopped_.clear();
}

}  // namespace kq::judge
