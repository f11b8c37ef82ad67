#include "gpu_worker/judge/child/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "gpu_worker/judge/device/clock.h"
#include "sys/printable.h"

namespace kq::judge {
namespace {

constexpr std::size_t kTasksMax = 16'384;             // more tasks than any process may have
constexpr std::int64_t kSettleMaxNs = 2'000'000'000;  // a task that is not stopped by then waits for hardware
constexpr std::int64_t kSettlePauseNs = 20'000;
constexpr std::int64_t kIdleWindowNs = 10'000'000;  // for how long a process is watched without a command
constexpr std::uint64_t kIdleRunNsMax = 50'000;     // what a sleeping process may run in that time
constexpr int kIdleWindowsMax = 60;                 // a pool that spins longer than all of them is no known one
constexpr int kStarvedWindowsMax = 300;
constexpr std::uint64_t kBusyNsMin = 20'000'000;  // what a task has run that is held against the child
constexpr std::uint64_t kFillBytes = 1u << 20;
// Where the kernel does not tell this process whether a task at rest has left its processor, it may account the last
// moments of the task when it has shown the task at rest for a while. So a task may seem to have run for so long, and
// that so often, before it is held against the child. A virtual processor that is itself interrupted makes the moments
// longer; 0.22 ms were seen.
constexpr std::uint64_t kLateAccountNsMax = 1'000'000;
constexpr int kLateAccountsMax = 3;
constexpr std::string_view kWindowName = "/memfd:kq-window";

void pause_ns(std::int64_t ns) {
  const timespec time{ns / 1'000'000'000, static_cast<long>(ns % 1'000'000'000)};
  ::nanosleep(&time, nullptr);
}

// Reads a file of /proc that is short. Returns an empty text where there is none.
std::string text_of(const std::string& path) {
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 1; file && got > 0;) {
    got = ::read(file.get(), part.data(), part.size());
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

template <class Number>
Number number_in(std::string_view text, int base = 10) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

std::vector<pid_t> numbers_in(const std::string& text) {
  std::vector<pid_t> numbers;
  std::istringstream words(text);
  for (pid_t number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

// Returns the part of /proc/PID/stat behind the name, which may have brackets and blanks itself: "S 1 ...".
std::string_view behind_name(std::string_view stat) {
  const std::size_t end = stat.rfind(')');
  return end == std::string_view::npos || end + 2 >= stat.size() ? std::string_view() : stat.substr(end + 2);
}

std::string folder_of(pid_t process, pid_t thread) {
  return "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread);
}

sys::Fd handle_of(pid_t process) {
  return sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

bool send(const sys::Fd& handle, int signal) {
  return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

bool is_at_rest(char state) {
  return state == 'T' || state == 't' || state == 'Z' || state == 'X';
}

// Returns whether a task that is at rest has left its processor, so that the kernel has accounted all that the task has
// run; nothing where the kernel does not tell, or not this process. A task is shown as stopped, or as a zombie, from
// just before it gives up its processor: if it is interrupted there, its last moments are accounted up to some
// milliseconds later. Reading this file waits in the kernel (wait_task_inactive) until the task has left its processor.
// The text is "running" for a task that goes on meanwhile.
std::optional<bool> has_left_its_processor(pid_t process, pid_t thread) {
  const std::string text = text_of(folder_of(process, thread) + "/syscall");
  if (text.empty()) return std::nullopt;
  return !text.starts_with("running");
}

std::string milliseconds(std::uint64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f ms", static_cast<double>(ns) / 1e6);
  return text.data();
}

}  // namespace

std::unique_ptr<ChildProcess> ChildProcess::of_sender(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, 256> control{};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = control.data();
  packet.msg_controllen = control.size();
  if (::recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return nullptr;
  ucred sender{};
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&packet); part_of != nullptr; part_of = CMSG_NXTHDR(&packet, part_of)) {
    if (part_of->cmsg_level == SOL_SOCKET && part_of->cmsg_type == SCM_CREDENTIALS)
      std::memcpy(&sender, CMSG_DATA(part_of), sizeof sender);
  }
  if (sender.pid <= 0 || sender.pid == ::getpid()) return nullptr;
  auto process = std::make_unique<ChildProcess>(sender.pid);
  // Tries what later steps need: signals, the list of tasks, and memory.
  if (!process->handle_ || !send(process->handle_, 0) || process->tasks().empty()) return nullptr;
  std::uint64_t begin = 0;
  std::byte first{};
  std::ifstream maps("/proc/" + std::to_string(sender.pid) + "/maps");
  process->can_read_ = (maps >> std::hex >> begin) && process->read(std::span(&first, 1), begin);
  process->has_failed_read_ = false;
  return process;
}

ChildProcess::ChildProcess(pid_t pid) : pid_(pid), handle_(handle_of(pid)) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  const std::string_view rest = behind_name(stat);
  if (rest.size() > 2) parent_ = number_in<pid_t>(rest.substr(2));
  if (parent_ <= 1 || parent_ == ::getpid()) parent_ = 0;
}

ChildProcess::~ChildProcess() {
  if (is_stopped_) resume();
}

void ChildProcess::signal_all(int signal) const {
  send(handle_, signal);
  for (const Descendant& descendant : descendants_) send(descendant.handle, signal);
}

void ChildProcess::stop() {
  signal_all(SIGSTOP);
  is_stopped_ = true;
}

void ChildProcess::resume() {
  is_stopped_ = false;
  has_failed_read_ = false;
  signal_all(SIGCONT);
}

bool ChildProcess::is_known(pid_t process) const {
  return process == pid_ || std::ranges::find(descendants_, process, &Descendant::process) != descendants_.end();
}

std::string ChildProcess::settle() {
  has_new_descendant_ = false;
  const std::int64_t deadline_ns = clock_ns() + kSettleMaxNs;
  std::vector<Task> before;
  bool was_settled = false;
  for (;;) {
    std::vector<Task> now = tasks();
    bool is_settled = now.size() <= kTasksMax;
    are_times_exact_ = true;
    for (const Task& task : now) {
      if (!is_known(task.process)) {
        has_new_descendant_ = true;
        descendants_.push_back({task.process, handle_of(task.process)});
        send(descendants_.back().handle, SIGSTOP);
        is_settled = false;
      }
      is_settled = is_settled && is_at_rest(task.state);
      if (!is_settled) continue;
      const std::optional<bool> has_left = has_left_its_processor(task.process, task.thread);
      are_times_exact_ = are_times_exact_ && has_left.has_value();
      is_settled = has_left.value_or(true);
    }
    const auto is_same = [](const Task& a, const Task& b) { return a.thread == b.thread && a.run_ns == b.run_ns; };
    if (was_settled && is_settled && std::ranges::equal(now, before, is_same)) {
      settled_ = std::move(now);
      std::erase_if(descendants_, [&](const Descendant& descendant) {
        return std::ranges::find(settled_, descendant.process, &Task::process) == settled_.end();
      });
      return {};
    }
    if (now.size() > kTasksMax) return "more than " + std::to_string(kTasksMax) + " threads went on";
    if (clock_ns() > deadline_ns) return "a thread went on although it was stopped";
    before = std::move(now);
    was_settled = is_settled;
    pause_ns(kSettlePauseNs);
  }
}

std::string ChildProcess::ran_while_stopped() {
  if (!is_stopped_) return {};
  const std::vector<Task> now = tasks();
  if (std::ranges::find(now, pid_, &Task::process) == now.end()) return {};  // it has ended, which is told elsewhere
  for (const Task& task : now) {
    const auto known = std::ranges::find(settled_, task.thread, &Task::thread);
    if (known == settled_.end()) return name_of(task) + " was started";
    const std::uint64_t ran_ns = task.run_ns - std::min(known->run_ns, task.run_ns);
    if (ran_ns == 0) continue;
    if (!are_times_exact_ && ran_ns <= kLateAccountNsMax && ++late_accounts_ <= kLateAccountsMax) continue;
    return name_of(task) + " ran for " + milliseconds(ran_ns);
  }
  for (const Task& task : settled_) {
    const bool is_there = std::ranges::find(now, task.thread, &Task::thread) != now.end();
    if (!is_there && task.state != 'Z' && task.state != 'X') return name_of(task) + " ended";
  }
  return {};
}

std::string ChildProcess::runs_without_command() {
  std::string busiest;
  std::map<pid_t, std::uint64_t> ran;  // by thread, in all windows
  for (int window = 0; window < kStarvedWindowsMax; ++window) {
    resume();
    const std::vector<Task> before = tasks();
    const std::int64_t begin_ns = clock_ns();
    pause_ns(kIdleWindowNs);
    const std::vector<Task> after = tasks();
    const auto watched_ns = static_cast<std::uint64_t>(clock_ns() - begin_ns);
    stop();
    if (auto trouble = settle(); !trouble.empty()) return trouble;
    busiest.clear();
    std::uint64_t most_ns = 0;
    std::uint64_t most_in_all_ns = 0;
    for (const Task& task : after) {
      const auto known = std::ranges::find(before, task.thread, &Task::thread);
      const std::uint64_t ran_ns = task.run_ns - (known == before.end() ? 0 : std::min(known->run_ns, task.run_ns));
      const std::uint64_t in_all_ns = ran[task.thread] += ran_ns;
      // On a busy machine a task that is ready may get no processor in all of the time.
      if ((ran_ns <= kIdleRunNsMax && task.state != 'R') || ran_ns < most_ns) continue;
      most_ns = ran_ns;
      most_in_all_ns = in_all_ns;
      busiest = name_of(task) + " ran for " + milliseconds(ran_ns) + " in " + milliseconds(watched_ns);
    }
    if (busiest.empty()) return {};
    if (window + 1 >= kIdleWindowsMax && most_in_all_ns >= kBusyNsMin) return busiest;
  }
  return {};  // the machine is so busy that a pool may not have come to rest
}

bool ChildProcess::read(std::span<std::byte> to, std::uint64_t address) {
  for (std::size_t at = 0; at < to.size();) {
    iovec local{to.data() + at, to.size() - at};
    iovec remote{reinterpret_cast<void*>(address + at), to.size() - at};
    const ssize_t got = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (got <= 0) {
      has_failed_read_ = true;
      return false;
    }
    at += static_cast<std::size_t>(got);
  }
  return true;
}

void ChildProcess::fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) {
  const std::uint64_t end = address + bytes;
  if (end < address ||
      std::ranges::any_of(windows_, [&](const Range& window) { return address < window.end && window.begin < end; }))
    return;
  static thread_local std::vector<std::uint32_t> words;
  words.assign(std::min<std::uint64_t>(bytes + 3, kFillBytes) / 4, word);
  for (std::uint64_t at = address; at < end;) {
    const std::size_t part = std::min<std::uint64_t>(end - at, words.size() * 4);
    iovec local{words.data(), part};
    iovec remote{reinterpret_cast<void*>(at), part};
    const ssize_t put = ::process_vm_writev(pid_, &local, 1, &remote, 1, 0);
    if (put <= 0) return;  // memory that the process may only read
    at += static_cast<std::uint64_t>(put);
  }
}

void ChildProcess::note_window(int file) {
  windows_.clear();
  struct stat window {};
  if (::fstat(file, &window) != 0) return;
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, rights, offset, device;
    std::uint64_t inode = 0;
    if (!(words >> range >> rights >> offset >> device >> inode) || inode != window.st_ino ||
        line.find(kWindowName) == std::string::npos)
      continue;
    const std::size_t dash = std::min(range.find('-'), range.size() - 1);
    windows_.push_back({number_in<std::uint64_t>(std::string_view(range).substr(0, dash), 16),
                        number_in<std::uint64_t>(std::string_view(range).substr(dash + 1), 16)});
  }
}

// Returns all tasks of the process and of its descendants. A reparented process is a child of the supervisor.
std::vector<ChildProcess::Task> ChildProcess::tasks() const {
  std::vector<Task> found;
  add_tasks(pid_, found);
  if (parent_ == 0) return found;
  for (const pid_t sibling : numbers_in(text_of(folder_of(parent_, parent_) + "/children"))) {
    if (sibling != pid_) add_tasks(sibling, found);
  }
  return found;
}

void ChildProcess::add_tasks(pid_t process, std::vector<Task>& found) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(("/proc/" + std::to_string(process) + "/task").c_str()),
                                                   ::closedir);
  while (folder != nullptr && found.size() <= kTasksMax) {
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr) return;
    const auto thread = number_in<pid_t>(entry->d_name);
    if (thread == 0) continue;
    const std::string at = folder_of(process, thread);
    const std::string stat = text_of(at + "/stat");
    const std::string_view rest = behind_name(stat);
    if (rest.empty()) continue;  // it has just ended
    const std::string times = text_of(at + "/schedstat");
    found.push_back({.process = process,
                     .thread = thread,
                     .state = rest.front(),
                     .run_ns = number_in<std::uint64_t>(std::string_view(times))});
    for (const pid_t child : numbers_in(text_of(at + "/children"))) add_tasks(child, found);
  }
}

std::string ChildProcess::name_of(const Task& task) const {
  std::string name = text_of(folder_of(task.process, task.thread) + "/comm");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  const char* const what = task.process != pid_          ? "a process"
                           : task.thread == task.process ? "the main thread"
                                                         : "a thread";
  return std::string(what) + (name.empty() ? "" : " named '" + sys::printable(name, 32) + "'");
}

}  // namespace kq::judge
