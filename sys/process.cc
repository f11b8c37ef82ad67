#include "sys/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include "core/base/check.h"

extern char** environ;

namespace kq::sys {
namespace {

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(text.substr(0, equals));
    if (options.inherited &&
        std::find(options.inherited->begin(), options.inherited->end(), name) == options.inherited->end())
      continue;
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

// Runs between fork and exec of a program with threads: only async-signal-safe calls.
[[noreturn]] void become(char** argv, char** envp, int socket, int parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before the line above
  ::setsid();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int null = ::open("/dev/null", O_RDONLY);
  if (null >= 0) ::dup2(null, 0);
  if (socket == 3) {
    ::fcntl(3, F_SETFD, 0);
  } else if (socket >= 0) {
    ::dup2(socket, 3);
  }
  ::syscall(SYS_close_range, socket >= 0 ? 4u : 3u, ~0u, 0u);
  ::execvpe(argv[0], argv, envp);
  constexpr char kText[] = "kq-worker: cannot start a program of the worker\n";
  if (::write(2, kText, sizeof kText - 1) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace

Expected<int> start_process(const ProcessOptions& options) {
  KQ_CHECK(!options.argv.empty());
  std::vector<std::string> arguments = options.argv;
  std::vector<std::string> environment = environment_of(options);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  const int parent = ::getpid();
  const int pid = ::fork();
  if (pid < 0) return our_fault("fork for " + options.argv[0] + ": " + std::strerror(errno));
  if (pid == 0) become(const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), options.socket, parent);
  return pid;
}

void end_process(int pid) {
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<std::vector<std::string>> visible_gpus() {
  const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return std::nullopt;
  std::vector<std::string> words;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',') && !word.starts_with('-');)
    words.push_back(word);  // as CUDA reads it
  return words;
}

std::string gpu_word(int index) {
  const auto visible = visible_gpus();
  const auto at = static_cast<std::size_t>(index);
  return visible && at < visible->size() ? (*visible)[at] : std::to_string(index);
}

std::string program_directory() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : path.parent_path().string();
}

std::string default_worker_state() {
  if (const char* state = std::getenv("XDG_STATE_HOME")) return std::string(state) + "/kq/worker";
  if (const char* home = std::getenv("HOME")) return std::string(home) + "/.local/state/kq/worker";
  return "/tmp/kq-worker";
}

}  // namespace kq::sys
