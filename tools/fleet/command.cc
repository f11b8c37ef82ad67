#include "tools/fleet/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sys/clock.h"
#include "sys/error_text.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace kq::tools {
namespace {

// Reads until the end of the output. Returns false when the time `until_ms` comes first.
bool read_output(int fd, std::int64_t until_ms, std::string& output) {
  for (;;) {
    const std::int64_t left_ms = until_ms - sys::monotonic_now_ms();
    if (left_ms <= 0) return false;
    pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, static_cast<int>(left_ms)) <= 0) continue;
    char bytes[4096];
    const ssize_t n = ::read(fd, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    output.append(bytes, std::min(static_cast<std::size_t>(n), kCommandOutputBytesMax - output.size()));
  }
}

}  // namespace

Expected<CommandEnd> run_command(const std::vector<std::string>& words, const Variables& environment,
                                 std::int64_t limit_ms) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return our_fault(sys::error_text("cannot make a pipe"));
  const sys::Fd reads(ends[0]);
  sys::Fd writes(ends[1]);
  KQ_TRY_VALUE(const int pid, sys::start_process({.argv = words, .environment = environment, .output = writes.get()}));
  writes = sys::Fd();
  CommandEnd end;
  if (!read_output(reads.get(), sys::monotonic_now_ms() + limit_ms, end.output)) {
    sys::end_process(pid);
    return our_fault(words[0] + " did not end within " + std::to_string(limit_ms) + " ms");
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace kq::tools
