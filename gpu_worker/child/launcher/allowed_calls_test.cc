#include "gpu_worker/child/launcher/allowed_calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace kq::launcher {
namespace {

// Runs `checks` in a forked process behind the filter. Returns the sum of the numbers of the checks that failed.
int behind_the_filter(const std::function<int()>& checks) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::_exit(allow_few_system_calls() ? checks() : 100);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_refused(long result) {
  return result < 0 && errno == EPERM;
}

TEST(allowed_calls, memory_reading_files_and_threads_are_allowed) {
  const int wrong = behind_the_filter([] {
    int sum = 0;
    if (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) sum += 1;
    const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    char byte = 0;
    if (file < 0 || ::read(file, &byte, 1) != 1) sum += 2;
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || ::write(null, &byte, 1) != 1) sum += 4;
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    if (!ran) sum += 8;
    return sum;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(allowed_calls, processes_sockets_new_files_and_signals_to_others_are_refused) {
  const int wrong = behind_the_filter([] {
    int sum = 0;
    if (!is_refused(::fork())) sum += 1;
    if (!is_refused(::socket(AF_UNIX, SOCK_STREAM, 0))) sum += 2;
    if (!is_refused(::open("/tmp/kq_marker_launcher", O_WRONLY | O_CREAT, 0600))) sum += 4;
    if (!is_refused(::kill(::getppid(), 0))) sum += 8;
    if (!is_refused(::execl("/bin/true", "true", nullptr))) sum += 16;
    if (!is_refused(::unlink("/tmp/kq_marker_launcher"))) sum += 32;
    return sum;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kq::launcher
