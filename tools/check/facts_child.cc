#include "tools/check/facts_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "sys/clock.h"

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

[[noreturn]] void exec_facts_server(const FactsChildOptions& options, int in, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  const rlimit memory{kMemoryBytesMax, kMemoryBytesMax}, none{0, 0};
  ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CORE, &none);
  ::signal(SIGPIPE, SIG_DFL);
  const std::string server = options.harness + "/facts/server.py";
  std::array<char*, 6> words{const_cast<char*>(options.python.c_str()),
                             const_cast<char*>("-I"),
                             const_cast<char*>("-S"),
                             const_cast<char*>("-B"),
                             const_cast<char*>(server.c_str()),
                             nullptr};
  ::execvp(words[0], words.data());
  ::_exit(127);
}

}  // namespace

FactsChild::~FactsChild() {
  stop();
}

Expected<void> FactsChild::start() {
  // Standard input is a socket, because send() has a flag that avoids SIGPIPE when the child has ended.
  int to_child[2], from_child[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to_child) != 0) {
    return our_fault(std::string("cannot make a pair of sockets: ") + std::strerror(errno));
  }
  if (::pipe2(from_child, O_CLOEXEC) != 0) {
    ::close(to_child[0]);
    ::close(to_child[1]);
    return our_fault(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  pid_ = ::fork();
  if (pid_ == 0) exec_facts_server(options_, to_child[0], from_child[1]);
  ::close(to_child[0]);
  ::close(from_child[1]);
  in_ = to_child[1];
  out_ = from_child[0];
  read_ahead_.clear();
  if (pid_ < 0) {
    stop();
    return our_fault(std::string("cannot start a process: ") + std::strerror(errno));
  }
  return {};
}

void FactsChild::stop() {
  if (in_ >= 0) ::close(in_);
  if (out_ >= 0) ::close(out_);
  in_ = out_ = -1;
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
}

bool FactsChild::send_all(std::string_view bytes, std::int64_t deadline_ms) {
  while (!bytes.empty()) {
    if (!wait_for(in_, POLLOUT, deadline_ms)) return false;
    const ssize_t n = ::send(in_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool FactsChild::receive(std::string& into, std::size_t bytes, std::int64_t deadline_ms) {
  while (read_ahead_.size() < bytes) {
    if (!wait_for(out_, POLLIN, deadline_ms)) return false;
    std::array<char, 1 << 16> buffer;
    const ssize_t n = ::read(out_, buffer.data(), buffer.size());
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
  if (pid_ < 0) {
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
