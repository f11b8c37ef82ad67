// The process of a child without a GPU, as the judge sees it from outside: the judge stops it while it has no command,
// reads its memory while it is stopped, and finds out whether anything of it has run meanwhile.
//
// Theory of operation. A GPU runs one context at a time, so the judge can hold it. A CPU has no such gate: threads and
// forked processes of a submission could read inputs while they are laid down, or go on after `done`. So the judge
// sends SIGSTOP at `done`, which is the end of the timed interval, and SIGCONT at `go`, which is its beginning. Between
// the two no thread of the child executes an instruction. A submission can have the kernel send SIGCONT, for example by
// a timer, and processes that it has forked are not stopped at once. Therefore the judge notes the processor time of
// every task of the child and of its descendants when all are stopped, and again before `go`: they must be equal.
//
// Because the memory of a stopped process does not change, outputs are read where a call has left them. No call has to
// copy them, and there is no place that a submission could write to ahead.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace kq::judge {

class ChildProcess {
 public:
  // Returns the process that has sent the packet which waits on the socket, or null: where there is no packet, where
  // the process is this one, or where this process may not stop the other one. The socket must have SO_PASSCRED.
  static std::unique_ptr<ChildProcess> of_sender(int socket);
  explicit ChildProcess(pid_t pid);
  ~ChildProcess();  // lets the process go on
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Stops the process and its known descendants. Returns as soon as the kernel knows: threads on other cores stop
  // within microseconds.
  void stop();
  // To be called after stop(): waits until every task is stopped, stops descendants that were not known, and notes how
  // long each task has run. Returns what has gone on where tasks cannot be stopped; else an empty text.
  std::string settle();
  // Returns whether settle() has found a descendant that was not known before.
  bool has_new_descendant() const { return has_new_descendant_; }
  // Returns what has run since settle(), in words, or an empty text. Where the kernel does not tell this process
  // whether a stopped task has left its processor, moments that it accounts late are ignored.
  std::string ran_while_stopped();
  void resume();
  // Lets the process go on for a while without a command, and stops it again. Returns in words which task has run all
  // that time, or an empty text. Pools of threads, such as OpenMP's, spin for some milliseconds after their last work
  // and then sleep.
  std::string runs_without_command();

  // Reads the process's memory. Returns false, and remembers that, where it does not have all of it.
  bool read(std::span<std::byte> to, std::uint64_t address);
  bool has_failed_read() const { return has_failed_read_; }
  // Returns whether this process may read the other one's memory. Root needs CAP_SYS_PTRACE for processes of others.
  bool can_read() const { return can_read_; }
  // Writes `word` repeatedly where the process may write. Does nothing where the memory is a part of a window.
  void fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word);
  // Notes where the process has mapped the file of a window.
  void note_window(int file);

 private:
  struct Task {
    pid_t process = 0;
    pid_t thread = 0;
    char state = 0;
    std::uint64_t run_ns = 0;
  };
  // The handle still means the same process when its number belongs to another one.
  struct Descendant {
    pid_t process = 0;
    sys::Fd handle;
  };
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  std::vector<Task> tasks() const;
  static void add_tasks(pid_t process, std::vector<Task>& found);
  void signal_all(int signal) const;
  bool is_known(pid_t process) const;
  std::string name_of(const Task& task) const;

  pid_t pid_;
  pid_t parent_ = 0;  // the process that supervises it, which gets its reparented processes; 0: not known
  sys::Fd handle_;
  bool is_stopped_ = false;
  bool has_new_descendant_ = false;
  bool has_failed_read_ = false;
  bool can_read_ = false;
  bool are_times_exact_ = false;  // whether settle() noted times of tasks that had all left their processors
  int late_accounts_ = 0;
  std::vector<Task> settled_;
  std::vector<Descendant> descendants_;
  std::vector<Range> windows_;
};

}  // namespace kq::judge
