#include "tools/stack/stop_signals.h"

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace kq::tools {
namespace {

sigset_t stop_set() {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = stop_set();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

std::optional<int> StopSignals::take(std::int64_t timeout_ms) {
  const sigset_t set = stop_set();
  const timespec timeout{.tv_sec = timeout_ms / 1000, .tv_nsec = (timeout_ms % 1000) * 1'000'000};
  const int signal = ::sigtimedwait(&set, nullptr, &timeout);
  return signal > 0 ? std::optional(signal) : std::nullopt;
}

void StopSignals::give_back() {
  const sigset_t set = stop_set();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
}

void end_on_closed_output() {
  ::signal(SIGPIPE, SIG_DFL);
}

int exit_code_of_signal(int signal) {
  return 128 + signal;
}

}  // namespace kq::tools
