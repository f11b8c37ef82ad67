#include "sys/log_pump.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "sys/error_text.h"

namespace kq::sys {

void CappedLog::append(std::string_view bytes) {
  const std::size_t to_head = std::min(bytes.size(), half_ - head_.size());
  head_ += bytes.substr(0, to_head);
  bytes.remove_prefix(to_head);
  tail_ += bytes;
  if (tail_.size() > 2 * half_) {
    dropped_ += tail_.size() - half_;
    tail_.erase(0, tail_.size() - half_);
  }
}

std::string CappedLog::text() const {
  const std::size_t surplus = tail_.size() > half_ ? tail_.size() - half_ : 0;
  const std::uint64_t missing = dropped_ + surplus;
  std::string text = head_;
  if (missing > 0) text += "\n[" + std::to_string(missing) + " bytes left out]\n";
  text += std::string_view(tail_).substr(surplus);
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) c = '?';
  }
  return text;
}

// so_far() reads at most this many buffers, because a child may write faster than they are read.
constexpr std::size_t kDrainsMax = 64;

struct LogPump::State {
  // Reads at most one buffer without waiting. Returns false if the pipe was empty or all writers have closed it.
  bool take() {
    const std::lock_guard lock(mutex);
    pollfd readable{reader.get(), POLLIN, 0};
    if (::poll(&readable, 1, 0) <= 0) return false;
    std::array<char, 16384> buffer;
    const ssize_t size = ::read(reader.get(), buffer.data(), buffer.size());
    if (size > 0) log.append({buffer.data(), static_cast<std::size_t>(size)});
    ended = ended || size == 0 || (size < 0 && errno != EINTR);
    return size > 0;
  }
  std::string text() {
    const std::lock_guard lock(mutex);
    return log.text();
  }

  Fd reader;
  std::mutex mutex;  // held from read() until the bytes are in the log
  CappedLog log{kLogBytesMax};
  std::atomic<bool> stop = false;
  std::atomic<bool> ended = false;
};

Expected<std::pair<LogPump, Fd>> LogPump::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return our_fault(error_text("pipe"));
  auto state = std::make_shared<State>();
  state->reader = Fd(ends[0]);
  std::thread thread([state] {
    while (!state->stop && !state->ended) {
      pollfd waiting{state->reader.get(), POLLIN, 0};
      // After a timeout or a signal, read() could block without limit.
      if (::poll(&waiting, 1, 50) > 0) state->take();
    }
  });
  return std::pair<LogPump, Fd>(LogPump(std::move(state), std::move(thread)), Fd(ends[1]));
}

LogPump::LogPump(std::shared_ptr<State> state, std::thread thread)
    : state_(std::move(state)), thread_(std::move(thread)) {}

LogPump::~LogPump() {
  if (!state_) return;
  state_->stop = true;
  if (thread_.joinable()) thread_.join();
}

std::string LogPump::finish(std::int64_t timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!state_->ended && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  state_->stop = true;
  if (thread_.joinable()) thread_.join();
  return state_->text();
}

std::string LogPump::so_far() {
  for (std::size_t i = 0; i < kDrainsMax && state_->take(); ++i) {
  }
  return state_->text();
}

}  // namespace kq::sys
