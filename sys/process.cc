#include "sys/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "core/base/check.h"
#include "sys/error_text.h"

extern char** environ;

namespace kq::sys {
namespace {

constexpr int kSocketFd = 3;
constexpr int kExitNotStarted = 127;  // the exit code of a shell for a command that it cannot run

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(text.substr(0, equals));
    if (options.inherited && std::ranges::find(*options.inherited, name) == options.inherited->end()) continue;
    variables[name] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : options.environment) variables[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The functions below run between fork and exec. The parent may have threads, so these functions may make
// async-signal-safe calls only.

void give_descriptors(const ProcessOptions& options) {
  const int input = options.input >= 0 ? options.input : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  if (options.output >= 0) ::dup2(options.output, STDOUT_FILENO);
  if (options.output >= 0 && options.joins_stderr) ::dup2(options.output, STDERR_FILENO);
  if (options.socket == kSocketFd) {
    ::fcntl(kSocketFd, F_SETFD, 0);
  } else if (options.socket >= 0) {
    ::dup2(options.socket, kSocketFd);
  }
  if (options.kept_fd >= 0) ::fcntl(options.kept_fd, F_SETFD, 0);
}

void close_descriptors(unsigned first, unsigned last) {
  if (first <= last) ::syscall(SYS_close_range, first, last, 0u);
}

void close_all_but(int kept) {
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  if (kept > STDERR_FILENO) close_descriptors(kFirst, static_cast<unsigned>(kept) - 1);
  close_descriptors(kept > STDERR_FILENO ? static_cast<unsigned>(kept) + 1 : kFirst, ~0u);
}

[[noreturn]] void execute(char** argv, char** envp, const ProcessOptions& options, int parent) {
  ::prctl(PR_SET_PDEATHSIG, options.death_signal);
  if (::getppid() != parent) ::_exit(kExitNotStarted);  // the parent died before prctl, so no signal will come
  if (options.leads == ProcessOptions::Leads::session) {
    ::setsid();
  } else {
    ::setpgid(0, 0);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (options.ignores_drain_signals) {
    ::signal(SIGTERM, SIG_IGN);
    ::signal(SIGUSR1, SIG_IGN);
  }
  give_descriptors(options);
  close_all_but(options.socket >= 0 ? kSocketFd : options.kept_fd);
  ::execvpe(argv[0], argv, envp);
  const char* const reason = ::strerrordesc_np(errno);  // unlike strerror() it takes no lock
  for (const char* part : std::array{"cannot start ", static_cast<const char*>(argv[0]), ": ",
                                     reason == nullptr ? "unknown error" : reason, "\n"}) {
    if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  ::_exit(kExitNotStarted);
}

}  // namespace

Expected<int> start_process(const ProcessOptions& options) {
  KQ_CHECK(!options.argv.empty() && (options.socket < 0 || options.kept_fd < 0));
  std::vector<std::string> arguments = options.argv;
  std::vector<std::string> environment = environment_of(options);
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> envp = pointers(environment);
  const int parent = ::getpid();
  const int pid = ::fork();
  if (pid < 0) return our_fault(error_text("cannot start " + options.argv[0]));
  if (pid == 0) execute(argv.data(), envp.data(), options, parent);
  // Parent and child both create the process group, so that it exists whichever of them runs first.
  if (options.leads == ProcessOptions::Leads::process_group) ::setpgid(pid, pid);
  return pid;
}

void end_process(int pid) {
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string program_directory() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : path.parent_path().string();
}

}  // namespace kq::sys
