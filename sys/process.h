// Starts and ends the programs that kq runs as its children: the judge, the zygote, the parser of kq-check and the
// programs of `kq up`.
//
// A started program has these properties. It gets a signal when the thread that started it ends, however that thread
// ends. It reads /dev/null unless the options name an input, blocks no signals and handles SIGPIPE as the system's
// default does. It leads a session or a process group of its own, so that a terminal's ^C does not reach it. It
// inherits no descriptor that the options do not name.
#pragma once

#include <signal.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace kq::sys {

struct ProcessOptions {
  enum class Leads { session, process_group };

  std::vector<std::string> argv;  // argv[0] is looked up in PATH if it has no slash
  // Variables that are added to the inherited ones or replace them.
  std::vector<std::pair<std::string, std::string>> environment = {};
  // Names of this process's variables that the program inherits; without a value it inherits all of them.
  std::optional<std::vector<std::string>> inherited = std::nullopt;
  int socket = -1;             // a descriptor that becomes number 3 in the program
  int kept_fd = -1;            // a descriptor that keeps its number; not together with `socket`
  int input = -1;              // a descriptor that becomes the program's stdin
  int output = -1;             // a descriptor that becomes the program's stdout, and its stderr too by default
  bool joins_stderr = true;    // whether stderr goes to `output`; otherwise it is inherited
  int death_signal = SIGKILL;  // sent when the starting thread ends (PR_SET_PDEATHSIG)
  Leads leads = Leads::session;
  // Whether the program and its children ignore SIGTERM and SIGUSR1. systemd and Slurm send these signals to every
  // process of a worker, but only the worker itself shall end, after it has finished its jobs.
  bool ignores_drain_signals = false;
};

// Starts a program and returns its process id. The calling thread must live as long as the program may run. A program
// that cannot be executed writes the reason to its stderr and ends with exit code 127.
Expected<int> start_process(const ProcessOptions& options);

// Sends SIGKILL to a child process and reaps it. Does nothing for pid 0.
void end_process(int pid);

// Returns the directory of the running program, from /proc/self/exe, or "." if that cannot be read.
std::string program_directory();

}  // namespace kq::sys
