// The worker's connection to a zygote: the warm Python process that forks every child
// (gpu_worker/harness/zygote/main.py).
//
// Protocol, on one SOCK_SEQPACKET pair; each packet is one JSON object. The worker trusts the zygote, because it runs
// kq's code only: a child closes this socket right after its fork, before it reads anything of a submission.
//
//   zygote -> worker, once:
//     {"ready": true, "python": "3.11.2", "torch": "2.11.0", "triton": "3.6.0", "cuda": "13.0",
//      "backends": ["torch", "triton", "cuda", "torch_cuda", "multi_kernel", "eval_program"],
//      "compilers": "g++ 12.2.0 ...",
//      "toolchain": "extensions/6 2.11.0 ...", "prefixes": ["extension-O1"],
//      "sandbox": "uid,user,pid,mount,ipc,net,uts,rlimits,landlock,seccomp,cgroup"}
//     or {"error": "one sentence"}, after which the zygote ends.
//
//   worker -> zygote, for each child:
//     {"id": 7, "role": "ready" | "build" | "ready_build" | "record" | "compile" | "profile" | "eval_program" |
//              "driver_cache",
//      "device": "cpu" | "cuda", "backend": "torch", "dir": DIR, "uid": 61000, "entry": "add.py",
//      "problem": "relu.py", "precision": "as_given", "arch": "sm_90", "shared": DIR, "profiler": PATH,
//      "gpus": "GPU-1,GPU-2", "device_count": 2, "host_bytes": N, "scratch_bytes": N, "window_bytes": N,
//      "audit": false, "compiler": false}
//     with descriptors: the log pipe; for the roles ready, ready_build, profile, eval_program and driver_cache the
//     channel socket; for an audited child a pipe for the audit. A pre-forked child (ready, ready_build) gets its
//     assignment through its channel (harness/children/preforked.py).
//
//   zygote -> worker:
//     {"id": 7, "pid": 1234}              forked; to kill process 1234 kills all processes of the child
//     {"id": 7, "error": "one sentence"}  the fork or the sandbox failed: a fault of ours
//     {"id": 7, "exit": 9, "left": 0}     ended with this wait status (core/plan.h), once for every pid; "left"
//     processes
//                                         of its control group were killed but hang in the kernel
//
// DIR holds src/ (the submission's and the problem's files and, for a submission, the build's files; read-only in the
// child), work/ (the child's current directory) and, for a build, out/ (for what it makes). A "uid" of 0 keeps the
// zygote's user.
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

// What kind of child to fork.
struct ChildOrder {
  ChildRole role = ChildRole::ready;
  Backend backend = Backend::torch;
  std::string dir;
  std::uint32_t uid = 0;
  std::string entry;    // a file name in src/, for builds
  std::string problem;  // a file name in src/
  Precision precision = Precision::as_given;
  std::string arch;                // of device code, for builds
  std::string shared = {};         // a directory that the child may read besides its own; empty: none
  std::string gpus = {};           // UUIDs of the GPUs that the child sees, joined by commas; empty: the zygote's own
  std::uint32_t device_count = 1;  // devices of the child; more than 1 only of an eval child
  std::uint64_t host_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t window_bytes = 0;  // the largest window, which does not count as the child's memory
  std::string profiler = {};       // the ncu of a profile child
  bool audit = false;              // of a ready child: CUPTI observes it (gpu_worker/child/runtime/audit.h)
  std::vector<int> cores = {};     // processors of a build; empty: all
  bool compiler = false;           // the zygote imports torch.compile's modules before the fork, once
};

struct ZygoteOptions {
  std::string python;   // an interpreter with torch and triton
  std::string harness;  // the directory of the Python harness
  std::string stub;     // the child runtime library
  DeviceKind device = DeviceKind::cpu;
  int device_index = 0;
  std::vector<int> cores = {};  // processors of children other than builds; empty: all
  // The UUID of the GPU, once it is known: in a sandbox that shows one GPU only, that GPU has another index.
  std::string device_uuid = {};
  // The architecture of the GPU, for which the zygote decompresses device code; empty: it decompresses none.
  std::string arch = {};
  std::uint64_t shared_code_bytes_max = 0;  // how many bytes of it there may be
  // Returns whether to give up a start, because the worker is told to stop. A signal makes the start ask. Null: never.
  bool (*gives_up)() = nullptr;
};

// One zygote process and the thread that reads its packets. Thread-safe. When the process dies, every wait fails, and
// the owner starts another zygote.
class Zygote {
 public:
  static Expected<std::unique_ptr<Zygote>> start(const ZygoteOptions& options);
  ~Zygote();  // kills it and, through it, every child

  const Software& software() const { return software_; }
  const std::string& compilers() const { return compilers_; }  // part of every build's key
  const std::string& toolchain() const { return toolchain_; }  // of extensions
  // The prefixes of torch's headers that nearly every extension is compiled with (harness/extensions/torch_prefix.py).
  const std::vector<std::string>& prefixes() const { return prefixes_; }
  const std::string& sandbox() const { return sandbox_; }
  const std::vector<Backend>& backends() const { return backends_; }  // that work on this machine
  bool alive() const;
  // Kills the process and, through it, every child. Every wait, running or to come, fails.
  void stop();
  int process() const { return pid_; }

  // Forks a child and returns its id. `log`, `channel` and `audit` are descriptors for the child; -1: none.
  Expected<std::uint64_t> fork(const ChildOrder& order, int log, int channel, int audit = -1);
  void kill(std::uint64_t id);
  // Returns the process id of a child, or 0 once it has ended.
  int process_of(std::uint64_t id) const;
  // Waits for a child's end. Returns its wait status, or nothing after `timeout_ms`.
  Expected<std::optional<int>> wait(std::uint64_t id, std::int64_t timeout_ms);
  // Returns how many processes of an ended child could not be killed.
  int unkilled_processes(std::uint64_t id) const;
  // Drops what is known of a child that has ended or is given up.
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
  std::string toolchain_;
  std::vector<std::string> prefixes_;
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
