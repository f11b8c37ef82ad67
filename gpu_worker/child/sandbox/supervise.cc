#include "gpu_worker/child/sandbox/supervise.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "gpu_worker/child/runtime/runtime.h"

namespace kq::sandbox {
namespace {

void ignore_signal(int) {}

// Reaps whatever has ended; the status of `job` once it is among them.
std::optional<int> reap(int job) {
  std::optional<int> found;
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
    if (pid == job) found = status;
  }
  return found;
}

bool is_closed(int lifeline) {
  pollfd look{lifeline, 0, 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

bool become_subreaper() {
  return ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

void kill_children() {
  // A child that is stopped half-way through a fork still shows up here in the next round.
  const std::string path = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  for (bool some = true; some;) {
    some = false;
    std::FILE* children = std::fopen(path.c_str(), "re");
    if (children == nullptr) return;
    int pid = 0;
    while (std::fscanf(children, "%d", &pid) == 1) {
      some = true;
      ::kill(pid, SIGKILL);
    }
    std::fclose(children);
    // Waits for one, so that the next round sees those it leaves to us.
    if (some) ::waitpid(-1, nullptr, 0);
  }
}

void supervise(int lifeline, int job) {
  // SIGCHLD only arrives inside ppoll: what ended before is seen by reap(), what ends later wakes us.
  struct sigaction action {};
  action.sa_handler = ignore_signal;
  ::sigaction(SIGCHLD, &action, nullptr);
  sigset_t child_signal, open_mask;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_signal, &open_mask);
  ::sigdelset(&open_mask, SIGCHLD);
  // A second belt: the kernel ends us, and with us the namespace, when the zygote dies. Outside of one we must live on
  // to clean up.
  const bool is_init = ::getpid() == 1;
  if (is_init) ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);

  std::optional<int> status;
  while (!status && !is_closed(lifeline)) {
    status = reap(job);
    if (status) break;
    pollfd look{lifeline, 0, 0};
    ::ppoll(&look, 1, nullptr, &open_mask);
  }
  if (is_init) {
    ::kill(-1, SIGKILL);  // everybody in the pid namespace but us
  } else {
    kill_children();
  }
  if (!status) return;
  std::array<char, 32> words{};
  const int size = std::snprintf(words.data(), words.size(), "exit %d", *status);
  ::send(lifeline, words.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL);
}

}  // namespace kq::sandbox

int kq_become_subreaper() {
  return kq::sandbox::become_subreaper() ? 0 : -1;
}
void kq_supervise(int lifeline, int job) {
  kq::sandbox::supervise(lifeline, job);
}
