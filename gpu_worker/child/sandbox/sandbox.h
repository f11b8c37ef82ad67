// The walls around one child. Plain Linux, no library; called by the harness in the child's own processes, before
// anything of a job is read.
//
// Theory of operation. Two processes beyond the zygote, each the fork of the one before:
//
//   fork_apart()    the zygote forks B into a pid namespace (as root directly, else inside a user namespace of its own)
//   B   enter()     is pid 1 in there: the other namespaces, the mount view, the slot uid, no capabilities; forks C,
//   supervises it C   confine()   the limits, then the job
//
// With real root everything that needs it (namespaces, mounts) is done before the slot uid is taken, so that a checkout
// below a 0700 home is still bound into the view; the user namespace comes last and only takes away. Without root the
// user namespace comes first, because it is what allows the rest. Each layer but the limits is taken where the kernel
// allows it; which ones are in force is returned and stored with every result. A layer that fails half-way, after which
// the old state cannot be had back, is an error: the caller tries again without it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace kq::sandbox {

// THE LAYERS, in the order they are reported. After them comes "cgroup", which the zygote takes before enter()
// (harness/cgroup.py), or "watchdog" where it cannot (harness/watchdog.py).
enum Layer : std::uint32_t {
  kUid = 1u << 0,    // a uid and gid of its own, no other groups
  kUser = 1u << 1,   // user namespace; no further ones inside
  kPid = 1u << 2,    // pid namespace; killing B ends every process of the child
  kMount = 1u << 3,  // nothing but the view, most of it read-only
  kIpc = 1u << 4,
  kNet = 1u << 5,  // no interface but a loopback that is down
  kUts = 1u << 6,
  kRlimits = 1u << 7,
  kLandlock = 1u << 8,  // landlock.h
  kSeccomp = 1u << 9,   // system_calls.h
};
inline constexpr std::array<std::string_view, 10> kLayerNames{"uid", "user", "pid",     "mount",    "ipc",
                                                              "net", "uts",  "rlimits", "landlock", "seccomp"};
using Layers = std::uint32_t;
inline constexpr Layers kAllLayers = (1u << kLayerNames.size()) - 1;

// "uid,user,pid"
std::string to_string(Layers layers);

struct Options {
  std::uint32_t uid = 0;  // the slot's; 0 keeps our own
  Layers wanted = kAllLayers;
  std::uint64_t host_bytes = 0;  // private memory beyond what the process has at confine()
  std::string_view view;         // view.h; needed for kMount and kLandlock
};

inline constexpr std::uint64_t kFilesOpenMax = 1024;
inline constexpr std::uint64_t kFileBytesMax = 1ull << 30;
inline constexpr std::uint64_t kProcessesMax = 512;  // and threads, of one slot uid

struct Fork {
  int pid = 0;               // 0: this is B
  Layers layers = 0;         // in force in B
  std::string trouble = {};  // told to B alone: why it must end
};
// For a process with one thread.
Expected<Fork> fork_apart(const Options& options);

// Each returns the layers in force from then on; `so_far` is what the step before returned.
Expected<Layers> enter(const Options& options, Layers so_far);
Expected<Layers> confine(const Options& options, Layers so_far);

}  // namespace kq::sandbox
