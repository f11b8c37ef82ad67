// Control's end of the zygote: the warm Python process that forks every child (gpu_worker/harness/zygote.py).
//
// Protocol, on one SOCK_SEQPACKET pair, each packet one JSON object. Control trusts the zygote: it runs our code only,
// and a child closes this socket right after its fork, before anything of a submission is read.
//
//   zygote -> control, once:  {"ready": true, "python": "3.11.2", "torch": "2.11.0", "triton": "3.6.0", "cuda": "13.0",
//                              "backends": ["torch", "triton", "cuda", "torch_cuda", "multi_kernel"],
//                              "compilers": "g++ 12.2.0 ...", "sandbox":
//                              "uid,user,pid,mount,ipc,net,uts,rlimits,landlock,seccomp,cgroup"}
//                             or {"error": "one sentence"} and exit
//   control -> zygote:        {"id": 7, "role": "ready" | "build" | "ready_build" | "record" | "compile" | "profile",
//   "device": "cpu" | "cuda", "backend": "torch",
//                              "dir": DIR, "uid": 61000, "entry": "add.py", "problem": "relu.py", "precision":
//                              "as_given", "arch": "sm_90", "shared": DIR, "profiler": PATH, "host_bytes": N,
//                              "scratch_bytes": N, "window_bytes": N, "audit": false, "kernels": false}
//                             with descriptors: [log pipe], for a ready, ready_build or profile child [log pipe,
//                             channel socket], and a pipe more for one that is audited. What a ready one is to be, or
//                             to build, it is told through its channel (harness/ready.py, build.py)
//   zygote -> control:        {"id": 7, "pid": 1234}   forked; 1234 is the process to kill: everything of the child
//   dies with it
//                             {"id": 7, "error": "one sentence"}   could not fork or enter the sandbox: our fault
//                             {"id": 7, "exit": 9, "left": 0}     gone, with this wait status (core/plan.h); comes once
//                             for every pid. "left"
//                                processes of its control group were killed and are there all the same: they hang in
//                                the kernel
//
// DIR holds src/ (the submission's and the problem's files and, for a submission, what the build made: read-only in the
// child), work/ (its current directory) and, for a build, out/ (what it makes). "uid" is 0 to keep the zygote's own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/device.h"
#include "core/plan.h"
#include "core/result.h"
#include "sys/fd.h"

namespace kq::worker {

struct ChildOrder {
  ChildRole role = ChildRole::ready;
  Backend backend = Backend::torch;
  std::string dir;
  std::uint32_t uid = 0;
  std::string entry;    // file name in src/; of a build
  std::string problem;  // file name in src/
  Precision precision = Precision::as_given;
  std::string arch;         // of device code, for builds
  std::string shared = {};  // a directory it may read beside its own, for builds; empty: none
  std::uint64_t host_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t window_bytes = 0;  // most that the judge's window may have: it is not the child's memory
  std::string profiler = {};       // of a profile child: its ncu
  bool audit = false;              // of a ready child: CUPTI tells what it does (stub/audit.h)
  bool kernels = false;            // of a ready child: loads those that most references use (harness/common_kernels.py)
};

struct ZygoteOptions {
  std::string python;   // interpreter with torch and triton
  std::string harness;  // directory of zygote.py
  std::string stub;     // libkqstub.so
  DeviceKind device = DeviceKind::cpu;
  int device_index = 0;
  std::vector<int> cores = {};  // that children other than builds keep to; none: all of them
  std::string device_uuid =
      {};  // of a GPU, once it is known: in a view that has no other GPU's node it is not the index-th one any more
};

// One zygote process and the thread that reads it. Thread-safe. When it dies, every wait ends with an Error and the
// owner starts another.
class Zygote {
 public:
  static Expected<std::unique_ptr<Zygote>> start(const ZygoteOptions& options);
  ~Zygote();  // kills it and, through it, every child

  const Software& software() const { return software_; }
  const std::string& compilers() const { return compilers_; }  // of this machine: part of every build's key
  const std::string& sandbox() const { return sandbox_; }
  const std::vector<Backend>& backends() const { return backends_; }  // whose compilers are there
  bool alive() const;
  // Kills it and, through it, every child. Every wait, running or to come, ends with an Error.
  void stop();
  int process() const { return pid_; }

  // Forks a child. `channel` is empty for a build; `audit` is the pipe of one that is audited.
  Expected<std::uint64_t> fork(const ChildOrder& order, int log, int channel, int audit = -1);
  void kill(std::uint64_t id);
  // The one to kill; 0 once it is gone.
  int process_of(std::uint64_t id) const;
  // The wait status once it is gone; nothing at the deadline.
  Expected<std::optional<int>> wait(std::uint64_t id, std::int64_t timeout_ms);
  // How many of its processes would not go, once it is gone itself.
  int left_by(std::uint64_t id) const;
  // The child is gone or given up: drops what is known of it.
  void forget(std::uint64_t id);

 private:
  struct Child {
    int pid = 0;
    std::optional<int> exit;
    int left = 0;
    std::string error;
    bool answered = false;
  };
  Zygote() = default;
  void read_loop();
  void handle(const std::string& packet);

  int pid_ = 0;
  DeviceKind device_ = DeviceKind::cpu;
  sys::Fd socket_;
  Software software_;
  std::string compilers_;
  std::string sandbox_;
  std::vector<Backend> backends_;
  std::thread reader_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Child> children_;
  std::uint64_t next_id_ = 1;
  bool alive_ = false;
};

}  // namespace kq::worker
