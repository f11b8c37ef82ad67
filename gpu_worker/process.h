// Starting our own programs: the judge and the zygote.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace kq {

struct ProcessOptions {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to or replacing ours
  std::optional<std::vector<std::string>> inherited = std::nullopt;  // names of ours that it gets; every one where this is empty
  int socket = -1;                // becomes descriptor 3; every other one above 2 is closed
};

// Starts a program that dies with the calling thread's process (PR_SET_PDEATHSIG: the calling thread must live as long as the worker).
Expected<int> start_process(const ProcessOptions& options);

// SIGKILL and reap. Safe to call for 0.
void end_process(int pid);

// The directory of the running program, from /proc/self/exe.
std::string program_directory();

}  // namespace kq
