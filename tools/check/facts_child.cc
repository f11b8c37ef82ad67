#include "tools/check/facts_child.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "sys/clock.h"
#include "sys/error_text.h"
#include "sys/process.h"

namespace kq::tools {
namespace {

constexpr rlim_t kMemoryBytesMax = 4ull << 30;
constexpr std::size_t kHeaderBytesMax = 64;
constexpr std::size_t kAnswerBytesMax = 16u << 20;

bool wait_for(int fd, short events, std::int64_t deadline_ms) {
  for (;;) {
    const std::int64_t left_ms = deadline_ms - sys::monotonic_now_ms();
    if (left_ms <= 0) return false;
    pollfd one{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left_ms, 1000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace

FactsChild::~FactsChild() {
  stop();
}

Expected<void> FactsChild::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return our_fault(sys::error_text("cannot make a pair of sockets"));
  }
  sys::Fd ours(ends[0]), childs(ends[1]);
  const std::string server = options_.harness + "/facts/server.py";
  KQ_TRY_VALUE(pid_, sys::start_process({.argv = {options_.python, "-I", "-S", "-B", server},
                                         .input = childs.get(),
                                         .output = childs.get(),
                                         .joins_stderr = false,
                                         .leads = sys::ProcessOptions::Leads::process_group}));
  const rlimit memory{kMemoryBytesMax, kMemoryBytesMax}, none{0, 0};
  ::prlimit(pid_, RLIMIT_AS, &memory, nullptr);
  ::prlimit(pid_, RLIMIT_CORE, &none, nullptr);
  socket_ = std::move(ours);
  read_ahead_.clear();
  return {};
}

void FactsChild::stop() {
  socket_ = sys::Fd();
  sys::end_process(pid_);
  pid_ = 0;
}

bool FactsChild::send_all(std::string_view bytes, std::int64_t deadline_ms) {
  while (!bytes.empty()) {
    if (!wait_for(socket_.get(), POLLOUT, deadline_ms)) return false;
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool FactsChild::receive(std::string& into, std::size_t bytes, std::int64_t deadline_ms) {
  while (read_ahead_.size() < bytes) {
    if (!wait_for(socket_.get(), POLLIN, deadline_ms)) return false;
    std::array<char, 1 << 16> buffer;
    const ssize_t n = ::read(socket_.get(), buffer.data(), buffer.size());
    if (n == 0 || (n < 0 && errno != EINTR)) return false;
    if (n > 0) read_ahead_.append(buffer.data(), static_cast<std::size_t>(n));
  }
  into.append(read_ahead_, 0, bytes);
  read_ahead_.erase(0, bytes);
  return true;
}

bool FactsChild::receive_line(std::string& into, std::int64_t deadline_ms) {
  do {
    if (into.size() == kHeaderBytesMax || !receive(into, 1, deadline_ms)) return false;
  } while (into.back() != '\n');
  return true;
}

Expected<std::variant<std::string, UnreadableSource>> FactsChild::facts(std::string_view name,
                                                                        std::string_view source) {
  if (pid_ == 0) {
    KQ_TRY(start());
  }
  // An empty source tests whether the child works at all. After that, a source without an answer is itself at fault.
  has_answered_ = has_answered_ || ask("start.py", "").has_value();
  if (!has_answered_) {
    stop();
    return our_fault("'" + options_.python + "' cannot run " + options_.harness +
                     "/facts/server.py; set KQ_PYTHON to a Python of 3.10 or newer");
  }
  if (auto answer = ask(name, source)) return std::move(*answer);
  stop();
  return UnreadableSource{.line = 1, .message = "parsing it takes too long or too much memory"};
}

// Sends one source and returns the answer, or nothing when no valid answer arrives in time.
std::optional<std::variant<std::string, UnreadableSource>> FactsChild::ask(std::string_view name,
                                                                           std::string_view source) {
  const std::int64_t deadline_ms = sys::monotonic_now_ms() + options_.limit_ms;
  const std::string request = std::to_string(name.size()) + " " + std::to_string(source.size()) + "\n" +
                              std::string(name) + std::string(source);
  std::string header, body;
  if (!send_all(request, deadline_ms) || !receive_line(header, deadline_ms)) return std::nullopt;
  std::uint32_t line = 1;
  std::size_t size = 0;
  const std::size_t first = header.find(' '), second = header.find(' ', first + 1);
  if (second == std::string::npos) return std::nullopt;
  std::from_chars(header.data() + first + 1, header.data() + second, line);
  const bool is_right =
      std::from_chars(header.data() + second + 1, header.data() + header.size() - 1, size).ec == std::errc() &&
      size <= kAnswerBytesMax && receive(body, size, deadline_ms);
  if (!is_right) return std::nullopt;
  if (header.starts_with("facts ")) return body;
  return UnreadableSource{.line = std::max(line, 1u), .message = body};
}

}  // namespace kq::tools
