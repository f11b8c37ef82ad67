#include "gpu_worker/child/sandbox/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "gpu_worker/child/runtime/runtime.h"
#include "gpu_worker/child/runtime/view.h"
#include "gpu_worker/child/sandbox/landlock.h"
#include "gpu_worker/child/sandbox/supervise.h"
#include "gpu_worker/child/sandbox/system_calls.h"

namespace kq::sandbox {
namespace {

constexpr int kCapabilitiesMax = 63;  // above every existing number; dropping an unknown capability is harmless

bool wants(const Options& options, Layer layer) {
  return (options.wanted & layer) != 0;
}

std::string failed(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// Whether the child's processes may talk over TCP. Without a network namespace they could reach the host.
bool has_loopback(const Options& options, Layers layers) {
  return options.device_count > 1 && (layers & kNet) != 0;
}

// Brings the loopback interface of this process's network namespace up.
Expected<void> bring_loopback_up() {
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP;
  const bool is_up = any >= 0 && ::ioctl(any, SIOCSIFFLAGS, &request) == 0;
  const std::string error = is_up ? "" : failed("cannot bring the loopback interface up");
  if (any >= 0) ::close(any);
  if (!is_up) return our_fault(error);
  return {};
}

bool write_file(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

// The ids of this process, as text for the maps of a user namespace. They are read before the namespace is entered.
struct Ids {
  std::string uid = std::to_string(::geteuid());
  std::string gid = std::to_string(::getegid());
};

// Maps the process's own ids, and no others, into the new user namespace that the process is in. The process then holds
// every capability over objects of that namespace.
Expected<void> map_own_ids(const Ids& ids) {
  // A process that is not dumpable does not own its /proc files, and could not write the maps.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  write_file("/proc/self/setgroups", "deny");
  if (!write_file("/proc/self/uid_map", ids.uid + " " + ids.uid + " 1") ||
      !write_file("/proc/self/gid_map", ids.gid + " " + ids.gid + " 1")) {
    return our_fault(failed("cannot write the maps of a user namespace"));
  }
  // A job that created another user namespace would hold every capability in it. This limit applies to this namespace
  // only.
  write_file("/proc/sys/user/max_user_namespaces", "0");
  return {};
}

Expected<Layers> take_uid(const Options& options, Layers layers) {
  if (!wants(options, kUid) || options.uid == 0 || ::geteuid() != 0 || (layers & (kUid | kUser)) != 0) return layers;
  const auto id = static_cast<gid_t>(options.uid);
  if (::setgroups(0, nullptr) != 0 || ::setresgid(id, id, id) != 0 ||
      ::setresuid(options.uid, options.uid, options.uid) != 0) {
    return our_fault(failed("cannot take the slot's uid"));
  }
  return layers | kUid;
}

Expected<Layers> take_user_namespace(const Options& options, Layers layers) {
  if (!wants(options, kUser) || (layers & kUser) != 0) return layers;
  const Ids ids;
  if (::unshare(CLONE_NEWUSER) != 0) return layers;
  KQ_TRY(map_own_ids(ids));
  return layers | kUser;
}

// Forks into new namespaces. The C library does not know of this fork, so the kernel is asked to update the thread id
// that the C library keeps, as fork() itself does.
int fork_into(int namespaces) {
  int* number = nullptr;
  const bool is_known = ::prctl(PR_GET_TID_ADDRESS, &number, 0, 0, 0) == 0;
  const int renew = is_known ? CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID : 0;
  return static_cast<int>(::syscall(SYS_clone, namespaces | renew | SIGCHLD, nullptr, nullptr, number, nullptr));
}

void drop_capabilities() {
  for (int capability = 0; capability <= kCapabilitiesMax; ++capability) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  ::syscall(SYS_capset, &header, none.data());
}

// Returns how many bytes of this process count against RLIMIT_DATA, or 0 if that cannot be read.
std::uint64_t data_bytes() {
  std::FILE* status = std::fopen("/proc/self/status", "re");
  if (status == nullptr) return 0;
  std::array<char, 256> line{};
  unsigned long long kib = 0;
  while (std::fgets(line.data(), line.size(), status) != nullptr &&
         std::sscanf(line.data(), "VmData: %llu kB", &kib) != 1) {
  }
  std::fclose(status);
  return kib << 10;
}

bool limit(__rlimit_resource resource, std::uint64_t value) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return false;
  const rlim_t wanted = std::min<rlim_t>(value, now.rlim_max);
  const rlimit both{wanted, wanted};
  return ::setrlimit(resource, &both) == 0;
}

}  // namespace

std::string to_string(Layers layers) {
  std::string text;
  for (std::size_t i = 0; i < kLayerNames.size(); ++i) {
    if ((layers & (1u << i)) == 0) continue;
    if (!text.empty()) text += ',';
    text += kLayerNames[i];
  }
  return text;
}

Expected<Fork> fork_apart(const Options& options) {
  // Root forks into a pid namespace directly, and takes the slot's uid later. Other users need a new user namespace for
  // a pid namespace. Root without the right to a pid namespace goes without one: it takes the slot's uid in enter(),
  // which a user namespace entered here would not permit.
  const bool takes_uid = wants(options, kUid) && options.uid != 0 && ::geteuid() == 0;
  const Ids ids;
  int pid = wants(options, kPid) ? fork_into(CLONE_NEWPID) : -1;
  if (pid >= 0) return Fork{.pid = pid, .layers = kPid};
  if (wants(options, kPid) && wants(options, kUser) && !takes_uid) pid = fork_into(CLONE_NEWUSER | CLONE_NEWPID);
  if (pid == 0) {
    const auto mapped = map_own_ids(ids);
    return Fork{.pid = 0, .layers = kUser | kPid, .trouble = mapped ? "" : mapped.error().message};
  }
  if (pid > 0) return Fork{.pid = pid, .layers = kUser | kPid};
  pid = fork_into(0);
  if (pid < 0) return our_fault(failed("cannot fork"));
  return Fork{.pid = pid};
}

Expected<Layers> enter(const Options& options, Layers layers) {
  constexpr std::pair<Layer, int> kNamespaces[] = {{kIpc, CLONE_NEWIPC}, {kNet, CLONE_NEWNET}, {kUts, CLONE_NEWUTS}};
  for (const auto& [layer, flag] : kNamespaces) {
    if (wants(options, layer) && ::unshare(flag) == 0) layers |= layer;
  }
  if ((layers & kUts) != 0) ::sethostname("kq", 2);
  if (has_loopback(options, layers)) {
    KQ_TRY(bring_loopback_up());
  }
  if (wants(options, kMount) && ::unshare(CLONE_NEWNS) == 0) {
    KQ_TRY(runtime::make_view(options.view));
    layers |= kMount;
  }

  // From here on rights are only removed.
  const auto with_uid = take_uid(options, layers);
  if (!with_uid) return with_uid;
  const auto with_user = take_user_namespace(options, *with_uid);
  if (!with_user) return with_user;
  drop_capabilities();
  if ((layers & kPid) == 0) become_subreaper();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return our_fault(failed("cannot set no_new_privs"));
  // The job must not look into the process that supervises it.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return *with_user;
}

Expected<Layers> confine(const Options& options, Layers layers) {
  // RLIMIT_AS is not limited, because CUDA reserves terabytes of addresses that cost nothing.
  const bool limited = limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, kFilesOpenMax) &&
                       limit(RLIMIT_FSIZE, kFileBytesMax) && limit(RLIMIT_DATA, data_bytes() + options.host_bytes) &&
                       ((layers & kUid) == 0 || limit(RLIMIT_NPROC, kProcessesMax * options.device_count));
  if (!limited) return our_fault(failed("cannot set limits"));
  layers |= kRlimits;
  if (wants(options, kLandlock) && !options.view.empty()) {
    KQ_TRY_VALUE(const auto restricted, restrict_files(options.view, {.has_view = (layers & kMount) != 0,
                                                                      .allows_tcp = has_loopback(options, layers)}));
    if (restricted) layers |= kLandlock;
  }
  if (wants(options, kSeccomp)) {
    KQ_TRY_VALUE(const auto refused, refuse_system_calls(has_loopback(options, layers)));
    if (refused) layers |= kSeccomp;
  }
  // The process owns its /proc files again, which no other process can see.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  return layers;
}

}  // namespace kq::sandbox

namespace {

kq::sandbox::Options from(const kq_sandbox_options& options) {
  return {.uid = options.uid,
          .wanted = options.wanted,
          .host_bytes = options.host_bytes,
          .view = options.view,
          .device_count = options.device_count};
}

std::int64_t answer(const kq::Expected<kq::sandbox::Layers>& layers, char* error, std::size_t error_bytes) {
  if (layers) return *layers;
  std::snprintf(error, error_bytes, "%s", layers.error().message.c_str());
  return -1;
}

}  // namespace

int kq_sandbox_fork(const kq_sandbox_options* options, std::uint32_t* layers, char* error, std::size_t error_bytes) {
  const auto fork = kq::sandbox::fork_apart(from(*options));
  *error = '\0';
  if (!fork || !fork->trouble.empty()) {
    std::snprintf(error, error_bytes, "%s", fork ? fork->trouble.c_str() : fork.error().message.c_str());
  }
  if (!fork) return -1;
  *layers = fork->layers;
  return fork->pid;
}
std::int64_t kq_sandbox_enter(const kq_sandbox_options* options, std::uint32_t layers, char* error,
                              std::size_t error_bytes) {
  return answer(kq::sandbox::enter(from(*options), layers), error, error_bytes);
}
std::int64_t kq_sandbox_confine(const kq_sandbox_options* options, std::uint32_t layers, char* error,
                                std::size_t error_bytes) {
  return answer(kq::sandbox::confine(from(*options), layers), error, error_bytes);
}
void kq_sandbox_words(std::uint32_t layers, char* words, std::size_t words_bytes) {
  std::snprintf(words, words_bytes, "%s", kq::sandbox::to_string(layers).c_str());
}
int kq_hide() {
  return ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
