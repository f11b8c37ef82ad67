#include "gpu_worker/judge/child/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "sys/fd.h"

namespace kq::judge {
namespace {

// A child that has a supervisor, as a sandboxed child has, and that does what its body says until the test ends.
class Forked {
 public:
  // What supervisor, child and test share.
  struct Shared {
    std::atomic<pid_t> pid;
    std::atomic<std::uint64_t> ticks;
    std::atomic<bool> goes_on;
    std::array<std::uint32_t, 64> words;
  };

  explicit Forked(const std::function<void(Shared&)>& body)
      : shared_(static_cast<Shared*>(
            ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
        ends_(std::move(*sys::packet_pair())) {
    const int is_on = 1;
    ::setsockopt(ends_.first.get(), SOL_SOCKET, SO_PASSCRED, &is_on, sizeof is_on);
    supervisor_ = ::fork();
    if (supervisor_ == 0) {
      ::setpgid(0, 0);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // a test program that is killed leaves no process behind
      ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        ::send(ends_.second.get(), "I", 1, 0);
        shared_->pid = ::getpid();  // tells the test that the packet is there
        body(*shared_);
        for (;;) ::pause();
      }
      for (;;) ::pause();
    }
    while (shared_->pid == 0) ::usleep(100);
  }
  ~Forked() {
    ::kill(-supervisor_, SIGKILL);  // all processes of its group
    ::waitpid(supervisor_, nullptr, 0);
    ::munmap(shared_, sizeof(Shared));
  }

  // Makes the judge's view of the child and stops the child.
  void stop() {
    if (!process) process = ChildProcess::of_sender(ends_.first.get());
    ASSERT_NE(process, nullptr);
    process->stop();
    ASSERT_EQ(process->settle(), "");
  }
  Shared& shared() { return *shared_; }
  int socket() { return ends_.first.get(); }
  void wait_for_ticks() {
    const std::uint64_t before = shared_->ticks;
    while (shared_->ticks == before) ::usleep(100);
  }
  bool ticks_in(int ms) {
    const std::uint64_t before = shared_->ticks;
    ::usleep(static_cast<useconds_t>(ms) * 1'000);
    return shared_->ticks != before;
  }

  std::unique_ptr<ChildProcess> process;

 private:
  Shared* shared_;
  std::pair<sys::Fd, sys::Fd> ends_;
  pid_t supervisor_ = 0;
};

void sleep_without_work(Forked::Shared&) {}

void spin_in_a_thread(Forked::Shared& shared) {
  std::thread([&shared] {
    for (;;) ++shared.ticks;
  }).detach();
}

TEST(ChildProcess, is_the_sender_of_the_packet) {
  Forked forked(sleep_without_work);
  const auto process = ChildProcess::of_sender(forked.socket());
  ASSERT_NE(process, nullptr);
  EXPECT_TRUE(process->can_read()) << "it is a process of the same user";
  EXPECT_EQ(ChildProcess::of_sender(forked.socket()), nullptr) << "there is one packet";
}

TEST(ChildProcess, is_never_this_process) {
  auto ends = *sys::packet_pair();
  const int is_on = 1;
  ::setsockopt(ends.first.get(), SOL_SOCKET, SO_PASSCRED, &is_on, sizeof is_on);
  ASSERT_EQ(::send(ends.second.get(), "I", 1, 0), 1);
  EXPECT_EQ(ChildProcess::of_sender(ends.first.get()), nullptr);
}

TEST(ChildProcess, stops_all_threads_until_it_goes_on) {
  Forked forked(spin_in_a_thread);
  forked.wait_for_ticks();
  forked.stop();
  EXPECT_FALSE(forked.ticks_in(5));
  EXPECT_EQ(forked.process->ran_while_stopped(), "");
  forked.process->resume();
  forked.wait_for_ticks();
}

TEST(ChildProcess, stops_processes_that_the_child_has_forked) {
  Forked forked([](Forked::Shared& shared) {
    if (::fork() != 0) return;
    if (::fork() != 0) ::_exit(0);  // a reparented process, which the supervisor gets
    for (;;) ++shared.ticks;
  });
  forked.wait_for_ticks();
  forked.stop();
  EXPECT_TRUE(forked.process->has_new_descendant());
  EXPECT_FALSE(forked.ticks_in(5));
  EXPECT_EQ(forked.process->ran_while_stopped(), "");
  forked.process->resume();
  forked.wait_for_ticks();
  forked.process->stop();
  EXPECT_EQ(forked.process->settle(), "");
  EXPECT_FALSE(forked.process->has_new_descendant()) << "it is known by now";
}

TEST(ChildProcess, tells_what_has_run_while_it_was_stopped) {
  Forked forked([](Forked::Shared& shared) {
    for (;;) ++shared.ticks;
  });
  forked.wait_for_ticks();
  forked.stop();
  ASSERT_EQ(::kill(forked.shared().pid, SIGCONT), 0);
  // It is told once the process has had a processor for long enough.
  std::string what;
  for (int i = 0; i < 10'000 && what.empty(); ++i) {
    ::usleep(1'000);
    what = forked.process->ran_while_stopped();
  }
  EXPECT_NE(what, "");
}

// The threads are more than the machine has processors, so some are interrupted in the moment in which they stop.
TEST(ChildProcess, never_seems_to_have_run_where_all_processors_are_busy) {
  if (std::ifstream("/proc/self/syscall").get() == EOF) GTEST_SKIP() << "skipped: /proc/self/syscall cannot be read";
  Forked forked([](Forked::Shared& shared) {
    for (unsigned i = 0; i < 4 * std::thread::hardware_concurrency(); ++i) spin_in_a_thread(shared);
  });
  forked.wait_for_ticks();
  for (int i = 0; i < 300; ++i) {
    forked.stop();
    ::usleep(200);
    ASSERT_EQ(forked.process->ran_while_stopped(), "") << "after " << i << " stops";
    forked.process->resume();
    ::usleep(500);
  }
}

TEST(ChildProcess, tells_which_thread_runs_without_a_command) {
  Forked forked(spin_in_a_thread);
  forked.wait_for_ticks();
  forked.stop();
  const std::string what = forked.process->runs_without_command();
  EXPECT_TRUE(what.starts_with("a thread named '")) << what;
  EXPECT_FALSE(forked.ticks_in(5)) << "it is stopped again";
}

TEST(ChildProcess, takes_no_offence_at_a_pool_that_spins_and_then_sleeps) {
  Forked forked([](Forked::Shared&) {
    std::thread([] {
      timespec used{};
      do ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
      while (used.tv_nsec < 25'000'000);
      for (;;) ::pause();
    }).detach();
  });
  forked.stop();
  EXPECT_EQ(forked.process->runs_without_command(), "");
}

TEST(ChildProcess, reads_and_fills_memory_of_the_process) {
  Forked forked([](Forked::Shared& shared) {
    static std::array<std::uint32_t, 3> own{1, 2, 3};
    shared.words[0] = 1;
    const auto address = reinterpret_cast<std::uint64_t>(own.data());
    std::memcpy(&shared.words[2], &address, sizeof address);
    ++shared.ticks;
    while (!shared.goes_on) ::usleep(100);
    shared.words[1] = own[2];
    ++shared.ticks;
  });
  while (forked.shared().ticks == 0) ::usleep(100);
  forked.stop();
  std::uint64_t address = 0;
  std::memcpy(&address, &forked.shared().words[2], sizeof address);
  std::array<std::uint32_t, 3> got{};
  EXPECT_TRUE(forked.process->read(std::as_writable_bytes(std::span(got)), address));
  EXPECT_EQ(got, (std::array<std::uint32_t, 3>{1, 2, 3}));
  forked.process->fill(address, sizeof got, 7);
  EXPECT_FALSE(forked.process->read(std::as_writable_bytes(std::span(got)), 8));
  EXPECT_TRUE(forked.process->has_failed_read());
  forked.process->resume();
  EXPECT_FALSE(forked.process->has_failed_read()) << "a failure counts until the next command";
  forked.shared().goes_on = true;
  while (forked.shared().ticks == 1) ::usleep(100);
  EXPECT_EQ(forked.shared().words[1], 7U);
}

TEST(ChildProcess, leaves_windows_as_they_are) {
  const int window = ::memfd_create("kq-window", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(window, 4096), 0);
  auto* const mapped =
      static_cast<std::uint32_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, window, 0));
  Forked forked(sleep_without_work);  // inherits the mapping
  forked.stop();
  forked.process->note_window(window);
  forked.process->fill(reinterpret_cast<std::uint64_t>(mapped), 64, 7);
  EXPECT_EQ(mapped[0], 0U);
  ::munmap(mapped, 4096);
  ::close(window);
}

}  // namespace
}  // namespace kq::judge
