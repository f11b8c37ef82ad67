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

// Reaps all children that have ended. Returns the wait status of `job` if it is one of them.
std::optional<int> reap(int job) {
  std::optional<int> found;
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
    if (pid == job) found = status;
  }
  return found;
}

bool is_closed(int lifeline) {
  pollfd watched{lifeline, 0, 0};
  return ::poll(&watched, 1, 0) > 0 && (watched.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

bool become_subreaper() {
  return ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

void kill_children() {
  // A process that a dying child has just forked shows up in the next round.
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
    // Reaps one child, so that the next round sees the processes that are reparented to this one.
    if (some) ::waitpid(-1, nullptr, 0);
  }
}

void supervise(int lifeline, int job) {
  // SIGCHLD is delivered only inside ppoll. A child that ended before is found by reap(); one that ends later wakes
  // ppoll.
  struct sigaction action {};
  action.sa_handler = ignore_signal;
  action.sa_flags = SA_NOCLDSTOP;  // the judge stops the job between two calls
  ::sigaction(SIGCHLD, &action, nullptr);
  sigset_t child_signal, open_mask;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_signal, &open_mask);
  ::sigdelset(&open_mask, SIGCHLD);
  // In a pid namespace the kernel also kills this process, and with it the namespace, when the zygote dies. Outside of
  // one the process must survive the zygote to kill its descendants.
  const bool is_init = ::getpid() == 1;
  if (is_init) ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);

  std::optional<int> status;
  while (!status && !is_closed(lifeline)) {
    status = reap(job);
    if (status) break;
    pollfd watched{lifeline, 0, 0};
    ::ppoll(&watched, 1, nullptr, &open_mask);
  }
  if (is_init) {
    ::kill(-1, SIGKILL);  // every process of the pid namespace except this one
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
