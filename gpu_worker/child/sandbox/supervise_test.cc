#include "gpu_worker/child/sandbox/supervise.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "gpu_worker/child/sandbox/sandboxed.h"

namespace kq::sandbox {
namespace {

constexpr Layers kNoPid = kAllLayers & ~Layers{kPid};

Options options(Layers wanted = kAllLayers) {
  return {.uid = kTestUid, .wanted = wanted, .host_bytes = 64u << 20, .view = kTestView};
}

std::string end_of(Layers wanted, const std::function<std::string()>& job) {
  return run(options(wanted), true, job).end;
}

// Starts a daemon that has left its session and its parent. As long as it lives, it holds the write end of the test's
// pipe open.
void leave_daemon_behind() {
  if (::fork() != 0) return;
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  for (;;) ::pause();
}

TEST(Supervise, reports_the_wait_status_of_the_job) {
  for (const Layers wanted : {kAllLayers, kNoPid}) {
    EXPECT_EQ(end_of(wanted, [] { return std::string(); }), "exit 0");
    EXPECT_EQ(end_of(wanted, []() -> std::string { ::_exit(3); }), "exit " + std::to_string(3 << 8));
    EXPECT_EQ(end_of(wanted,
                     []() -> std::string {
                       std::raise(SIGSEGV);
                       return "";
                     }),
              "exit 11");
    EXPECT_EQ(end_of(wanted,
                     []() -> std::string {
                       std::raise(SIGKILL);
                       return "";
                     }),
              "exit 9");
    EXPECT_EQ(end_of(wanted, []() -> std::string { std::abort(); }), "exit 6");
  }
}

// The test can read the end of the pipe only after the last process that holds it is gone: a test that finishes has
// passed.
TEST(Supervise, no_process_outlives_the_job) {
  for (const Layers wanted : {kAllLayers, kNoPid}) {
    EXPECT_EQ(end_of(wanted,
                     [] {
                       for (int i = 0; i < 20; ++i) leave_daemon_behind();
                       return std::string();
                     }),
              "exit 0");
  }
}

TEST(Supervise, no_process_outlives_a_killed_supervisor) {
  Running running = start(options(), true, []() -> std::string {
    leave_daemon_behind();
    (void)!::write(1, "", 0);
    for (;;) ::pause();
  });
  // The layers are sent once the job runs.
  char word[64];
  ASSERT_GT(::recv(running.lifeline, word, sizeof word, 0), 0);
  ::kill(running.b, SIGKILL);
  Sandboxed result;
  running.finish(result);
  EXPECT_EQ(result.end, "");
}

TEST(Supervise, no_process_outlives_the_zygote) {
  for (const Layers wanted : {kAllLayers, kNoPid}) {
    int held[2];
    ASSERT_EQ(::pipe(held), 0);
    const int zygote = ::fork();
    if (zygote == 0) {
      ::close(held[0]);
      const Running running = start(options(wanted), true, []() -> std::string {
        leave_daemon_behind();
        for (;;) ::pause();
      });
      char word[64];
      (void)!::recv(running.lifeline, word, sizeof word, 0);
      ::_exit(0);
    }
    ::close(held[1]);
    ::waitpid(zygote, nullptr, 0);
    char byte = 0;
    EXPECT_EQ(::read(held[0], &byte, 1), 0) << "every process that held the pipe is gone";
    ::close(held[0]);
  }
}

TEST(Supervise, the_job_cannot_kill_its_supervisor) {
  EXPECT_EQ(end_of(kAllLayers,
                   [] {
                     ::kill(1, SIGKILL);
                     ::kill(1, SIGSTOP);
                     ::kill(1, SIGTERM);
                     return std::string();
                   }),
            "exit 0");
}

}  // namespace
}  // namespace kq::sandbox
