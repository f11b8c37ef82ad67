// The sandbox of one child: Linux namespaces, a mount view, a uid of its own, resource limits, Landlock and seccomp.
// The harness calls these functions in the child's own processes, before anything of a job is read.
//
// Theory of operation. A child has two processes beside the zygote, A; each is forked by the one before:
//
//   A   fork_apart()   forks B into a pid namespace: as root directly, otherwise inside a new user namespace
//   B   enter()        enters the other namespaces and the mount view, takes the slot's uid, and drops all
//                      capabilities; then B, which is pid 1 of the pid namespace, forks C and supervises it
//   C   confine()      sets resource limits, Landlock and seccomp; then C runs the job
//
// With real root, everything that needs root (namespaces, mounts) is done before the slot's uid is taken, so that the
// view can bind a checkout below a home directory of mode 0700. The user namespace then comes last and only removes
// rights. Without root the user namespace comes first, because it gives the right to do the rest. Each layer but the
// resource limits is optional: it is taken where the kernel allows it. The layers in force are returned, and stored
// with every result. A layer that fails half-way, so that the old state cannot be restored, is an error: the caller
// tries again without that layer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace kq::sandbox {

// The layers, in the order in which they are reported. The zygote adds "cgroup", which it sets up before enter()
// (harness/sandbox/cgroup.py), or "watchdog" if it cannot (harness/sandbox/watchdog.py).
enum Layer : std::uint32_t {
  kUid = 1u << 0,    // a uid and gid that no other child has, and no other groups
  kUser = 1u << 1,   // user namespace, in which no further one can be created
  kPid = 1u << 2,    // pid namespace; killing B ends every process of the child
  kMount = 1u << 3,  // only the files of the view, most of them read-only
  kIpc = 1u << 4,
  kNet = 1u << 5,  // no interface except a loopback, which is down unless the child has several devices
  kUts = 1u << 6,
  kRlimits = 1u << 7,
  kLandlock = 1u << 8,  // landlock.h
  kSeccomp = 1u << 9,   // system_calls.h
};
inline constexpr std::array<std::string_view, 10> kLayerNames{"uid", "user", "pid",     "mount",    "ipc",
                                                              "net", "uts",  "rlimits", "landlock", "seccomp"};
using Layers = std::uint32_t;
inline constexpr Layers kAllLayers = (1u << kLayerNames.size()) - 1;

// Returns the names of the layers, joined by commas: "uid,user,pid".
std::string to_string(Layers layers);

struct Options {
  std::uint32_t uid = 0;  // the slot's uid; 0 keeps the caller's
  Layers wanted = kAllLayers;
  std::uint64_t host_bytes = 0;  // limit of private memory, beyond what the process uses at confine()
  std::string_view view;         // a plan of view.h; needed for kMount and kLandlock
  // The devices of the child. A child with several has a process on each of them: there may be so many times more
  // processes, and they may talk over the loopback interface of their network namespace, as NCCL and Gloo do.
  std::uint32_t device_count = 1;
};

inline constexpr std::uint64_t kFilesOpenMax = 1024;
inline constexpr std::uint64_t kFileBytesMax = 1ull << 30;
inline constexpr std::uint64_t kProcessesMax = 512;  // processes and threads of one slot's uid, for each device

struct Fork {
  int pid = 0;               // 0 in process B
  Layers layers = 0;         // the layers in force in B
  std::string trouble = {};  // set in B only: a sentence that says why B must end
};
// Forks process B as described above. The calling process must have one thread only.
Expected<Fork> fork_apart(const Options& options);

// Each function returns the layers in force from then on. `so_far` holds the layers that the step before returned.
Expected<Layers> enter(const Options& options, Layers so_far);
Expected<Layers> confine(const Options& options, Layers so_far);

}  // namespace kq::sandbox
