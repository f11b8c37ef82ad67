// A child inside the sandbox tries each call and reports the outcome.
#include "gpu_worker/child/sandbox/system_calls.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "gpu_worker/child/sandbox/sandboxed.h"

namespace kq::sandbox {
namespace {

// Runs `job` with the filter only, so that no other layer can refuse the calls.
std::string in_filter(const std::function<std::string()>& job) {
  const Sandboxed result =
      run({.uid = 0, .wanted = kSeccomp | kRlimits, .host_bytes = 256u << 20, .view = {}}, true, job);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(to_string(result.layers), "rlimits,seccomp");
  return result.said;
}

std::string outcome(long result) {
  return result >= 0 ? "done" : std::strerror(errno);
}

TEST(SystemCalls, calls_that_have_exploited_kernels_are_refused) {
  const std::string no = std::strerror(EPERM);
  EXPECT_EQ(in_filter([] { return outcome(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }), no);
  EXPECT_EQ(in_filter([] { return outcome(::syscall(SYS_io_uring_setup, 8, nullptr)); }), no);
  EXPECT_EQ(in_filter([] { return outcome(::syscall(SYS_bpf, 0, nullptr, 0)); }), no);
  EXPECT_EQ(in_filter([] { return outcome(::syscall(SYS_userfaultfd, 0)); }), no);
  EXPECT_EQ(in_filter([] { return outcome(::syscall(SYS_keyctl, 0, 0, 0, 0, 0)); }), no);
  EXPECT_EQ(in_filter([] { return outcome(::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0)); }), no);
  EXPECT_EQ(in_filter([] { return outcome(::personality(ADDR_NO_RANDOMIZE)); }), no);
  EXPECT_EQ(in_filter([] { return outcome(::ioctl(0, 0x5412, "x")); }), no);
}

TEST(SystemCalls, no_call_can_create_a_namespace) {
  const std::string no = std::strerror(EPERM);
  EXPECT_EQ(in_filter([] { return outcome(::unshare(CLONE_NEWUSER)); }), no);
  EXPECT_EQ(in_filter([] {
              return outcome(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
            }),
            no);
  EXPECT_EQ(in_filter([] { return outcome(::syscall(SYS_clone3, nullptr, 0)); }), std::strerror(ENOSYS));
}

TEST(SystemCalls, only_local_and_internet_sockets_are_allowed) {
  EXPECT_EQ(in_filter([] {
              std::string families;
              for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG}) {
                families += ::socket(family, SOCK_DGRAM, 0) >= 0 ? "+" : errno == EAFNOSUPPORT ? "-" : "?";
              }
              return families;
            }),
            "+++----");
}

TEST(SystemCalls, calls_that_jobs_need_are_allowed) {
  EXPECT_EQ(in_filter([] {
              std::string said;
              std::thread([&] { said += "thread "; }).join();
              const int child = ::fork();
              if (child == 0) ::_exit(7);
              int status = 0;
              ::waitpid(child, &status, 0);
              return said + "child " + std::to_string(WEXITSTATUS(status)) +
                     (::personality(0xFFFFFFFF) >= 0 ? " personality" : "");
            }),
            "thread child 7 personality");
}

}  // namespace
}  // namespace kq::sandbox
