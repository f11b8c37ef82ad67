// For tests: runs a function inside the sandbox, through the same processes as the harness does.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "gpu_worker/child/sandbox/sandbox.h"
#include "gpu_worker/child/sandbox/supervise.h"

namespace kq::sandbox {

// The view of the tests: the files that a program needs, a writable directory, /proc and /dev/null.
inline const std::string kTestView =
    "ro\t/usr\t/usr\n"
    "ro\t/lib\t/lib\n"
    "ro\t/lib64\t/lib64\n"
    "ro\t/bin\t/bin\n"
    "ro\t/etc/passwd\t/etc/passwd\n"
    "ro\t/nonsense\t/nonsense\n"
    "ro\t/sys\t/sys\n"
    "dev\t/dev/null\n"
    "dev\t/dev/nonsense\n"
    "scratch\t1048576\t64\t/tmp\t/kq/work\n"
    "link\t/kq/work\t/w\n"
    "proc\t/proc\n";

// A slot's uid that no user of the machine has.
inline constexpr std::uint32_t kTestUid = 61999;

// The outcome of a sandboxed run.
struct Sandboxed {
  std::string said;   // the text that the function returned
  std::string error;  // a sentence that says why there is no sandbox
  std::string end;    // "exit STATUS", as B sent it, or empty if B was killed
  Layers layers = 0;
};

// A running child: the test's ends of its sockets and pipes, and the pid of B.
struct Running {
  int lifeline = -1;
  int words = -1;
  int b = -1;

  void finish(Sandboxed& result) {
    char bytes[4096];
    for (ssize_t n; (n = ::read(words, bytes, sizeof bytes)) > 0;)
      result.said.append(bytes, static_cast<std::size_t>(n));
    for (ssize_t n; (n = ::recv(lifeline, bytes, sizeof bytes, 0)) > 0;) {
      const std::string word(bytes, static_cast<std::size_t>(n));
      if (word.starts_with("exit ")) result.end = word;
      if (word.starts_with("error ")) result.error = word;
      if (word.starts_with("layers ")) result.layers = static_cast<Layers>(std::stoul(word.substr(7)));
    }
    ::close(words);
    ::close(lifeline);
    ::waitpid(b, nullptr, 0);
  }
};

inline Running start(const Options& options, bool as_root, const std::function<std::string()>& job) {
  become_subreaper();
  int lifeline[2], words[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lifeline) != 0 || ::pipe(words) != 0) std::abort();
  const auto say = [&](const std::string& word) { ::send(lifeline[1], word.data(), word.size(), MSG_NOSIGNAL); };
  // This process stands for the zygote. It may change its uid; the processes that it forks are reparented to the test.
  const int zygote = ::fork();
  if (zygote == 0) {
    ::close(lifeline[0]);
    ::close(words[0]);
    if (!as_root && ::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(1);
    const auto forked = fork_apart(options);
    if (!forked || forked->pid != 0) {
      say(forked ? "pid " + std::to_string(forked->pid) : "error " + forked.error().message);
      ::_exit(0);
    }
    char go = 0;
    (void)!::recv(lifeline[1], &go, 1, 0);
    auto layers = enter(options, forked->layers);
    const int c = layers ? ::fork() : -1;
    if (c == 0) {
      layers = confine(options, *layers);
      say(layers ? "layers " + std::to_string(*layers) : "error " + layers.error().message);
      ::close(lifeline[1]);
      const std::string result = layers ? job() : "";
      (void)!::write(words[1], result.data(), result.size());
      ::_exit(0);
    }
    if (!layers) say("error " + layers.error().message);
    ::close(words[1]);
    if (c > 0) supervise(lifeline[1], c);
    ::_exit(0);
  }
  ::close(lifeline[1]);
  ::close(words[1]);
  char bytes[256];
  const ssize_t n = ::recv(lifeline[0], bytes, sizeof bytes, 0);
  const std::string word(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
  ::waitpid(zygote, nullptr, 0);
  ::send(lifeline[0], "g", 1, MSG_NOSIGNAL);
  return {lifeline[0], words[0], word.starts_with("pid ") ? std::stoi(word.substr(4)) : -1};
}

inline Sandboxed run(const Options& options, bool as_root, const std::function<std::string()>& job) {
  Running running = start(options, as_root, job);
  Sandboxed result;
  running.finish(result);
  return result;
}

}  // namespace kq::sandbox
