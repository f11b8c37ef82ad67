// Starting our own programs: the judge and the zygote.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace kq::sys {

struct ProcessOptions {
  std::vector<std::string> argv;                                 // argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // added to or replacing ours
  std::optional<std::vector<std::string>> inherited =
      std::nullopt;  // names of ours that it gets; every one where this is empty
  int socket = -1;   // becomes descriptor 3; every other one above 2 is closed
};

// Starts a program that dies with the calling thread's process (PR_SET_PDEATHSIG: the calling thread must live as long
// as the worker).
Expected<int> start_process(const ProcessOptions& options);

// SIGKILL and reap. Safe to call for 0.
void end_process(int pid);

// The GPUs that CUDA_VISIBLE_DEVICES leaves to this process and its judges, in its own words; nothing where it is not
// set.
std::optional<std::vector<std::string>> visible_gpus();
// What a process must have there to see GPU `index` of them alone.
std::string gpu_word(int index);

// The directory of the running program, from /proc/self/exe.
std::string program_directory();

// Where a worker keeps its build cache and scratch files unless it is told.
std::string default_worker_state();

}  // namespace kq::sys
