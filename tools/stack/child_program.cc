#include "tools/stack/child_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/base/check.h"
#include "sys/error_text.h"
#include "sys/process.h"
#include "tools/cli/text.h"
#include "tools/doctor/remedies.h"

namespace kq::tools {
namespace {

constexpr std::int64_t kLogBytesKept = 16 << 20;  // a longer log is renamed to LOG.old at the next start
constexpr std::int64_t kTailBytes = 4 << 10;
constexpr std::size_t kTailLines = 12;
constexpr std::int64_t kPollMs = 10;

std::string end_of(int wait_status) {
  if (WIFEXITED(wait_status)) return "exit code " + std::to_string(WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

int open_log(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > kLogBytesKept) {
    ::rename(path.c_str(), (path + ".old").c_str());
  }
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

// Returns the Error of a program that is not executable; errno says why. The Error of a program that is not installed
// names the line that brings it.
Error cannot_start(const std::filesystem::path& program) {
  const int error = errno;
  std::string text = sys::error_text("cannot start " + program.string(), error);
  if (error == ENOENT)
    text += "; what brings it: " + program_remedy(installation_of(program.parent_path()), program.filename());
  return {ErrorKind::our_fault, text};
}

}  // namespace

Expected<Process> Process::start(const Command& command) {
  KQ_CHECK(!command.words.empty());
  const std::string& program = command.words.front();
  if (::access(program.c_str(), X_OK) != 0) return failure(cannot_start(program));
  const int log = open_log(command.log);
  if (log < 0) return our_fault(sys::error_text("cannot write " + command.log));
  const std::int64_t log_start = ::lseek(log, 0, SEEK_END);

  // SIGINT lets a worker leave at once. On SIGTERM a worker would first finish its jobs, for a broker that ends as
  // well.
  const auto pid = sys::start_process({.argv = command.words,
                                       .kept_fd = command.inherited_fd,
                                       .output = log,
                                       .death_signal = SIGINT,
                                       .leads = sys::ProcessOptions::Leads::process_group});
  ::close(log);
  if (!pid) return failure(pid.error());
  return Process(*pid, command.log, log_start);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      log_(std::move(other.log_)),
      log_start_(other.log_start_),
      end_(std::move(other.end_)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(log_, other.log_);
  std::swap(log_start_, other.log_start_);
  std::swap(end_, other.end_);
  return *this;
}

Process::~Process() {
  if (pid_ == 0 || ended()) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<std::string> Process::ended() {
  if (end_ || pid_ == 0) return end_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) end_ = end_of(status);
  return end_;
}

void Process::stop(std::int64_t grace_ms, const Sleep& sleep) {
  if (ended()) return;
  ::kill(pid_, SIGTERM);
  for (std::int64_t waited = 0; waited < grace_ms; waited += kPollMs) {
    if (ended()) return;
    if (sleep(kPollMs)) break;
    if (waited < kAskAgainMs && waited + kPollMs >= kAskAgainMs) ::kill(pid_, SIGTERM);
  }
  if (ended()) return;
  ::kill(-pid_, SIGKILL);
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_) end_ = end_of(status);
}

std::string Process::log_tail() const {
  std::ifstream file(log_, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::int64_t end = file.tellg();
  const std::int64_t start = std::max(log_start_, end - kTailBytes);
  if (end <= start) return "";
  std::string tail(static_cast<std::size_t>(end - start), '\0');
  file.seekg(start);
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));

  std::vector<std::string> lines;
  for (std::size_t at = 0; at < tail.size();) {
    const std::size_t stop = std::min(tail.find('\n', at), tail.size());
    lines.push_back(printable(std::string_view(tail).substr(at, stop - at)));
    at = stop + 1;
  }
  std::string text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kTailLines); i < lines.size(); ++i)
    text += "\n    " + lines[i];
  return text;
}

}  // namespace kq::tools
