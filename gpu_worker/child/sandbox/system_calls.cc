#include "gpu_worker/child/sandbox/system_calls.h"

#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

namespace kq::sandbox {
namespace {

// Calls are listed by name, because libseccomp knows the numbers. It skips names that this architecture or this version
// of libseccomp does not have.
constexpr const char* kRefused[] = {
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
    // the kernel's keys, programs, counters and rings
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "fanotify_init", "lookup_dcookie",
    // mounts and namespaces
    "mount", "umount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr", "unshare", "setns", "name_to_handle_at", "open_by_handle_at", "swapon", "swapoff",
    "quotactl", "quotactl_fd", "acct",
    // the machine
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "settimeofday",
    "clock_settime", "clock_adjtime", "adjtimex", "syslog", "vhangup", "iopl", "ioperm", "modify_ldt", "uselib",
    "sysfs", "_sysctl", "nfsservctl"};

constexpr std::uint64_t kNewNamespaces[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                            CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
constexpr std::uint64_t kPushInput = 0x5412,
                        kConsole = 0x541C;               // TIOCSTI and TIOCLINUX, which inject input into a terminal
constexpr std::uint64_t kWhichPersonality = 0xFFFFFFFF;  // this argument reads the personality without a change

struct Release {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, Release>;

// What a rule compares one argument of a call with; seccomp.h has macros for it that are no C++.
scmp_arg_cmp argument(unsigned number, scmp_compare how, std::uint64_t value, std::uint64_t masked = 0) {
  return {.arg = number, .op = how, .datum_a = value, .datum_b = masked};
}

std::uint32_t error(int number) {
  return SCMP_ACT_ERRNO(static_cast<std::uint32_t>(number));
}

bool add_rules(scmp_filter_ctx filter, bool has_loopback) {
  bool ok = true;
  const auto refuse = [&](int number, const char* name, auto... arguments) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call == __NR_SCMP_ERROR) return;
    const int added = seccomp_rule_add(filter, error(number), call, sizeof...(arguments), arguments...);
    ok = ok && (added == 0 || added == -EDOM);  // EDOM: not on this architecture
  };
  for (const char* name : kRefused) refuse(EPERM, name);
  // The flags of clone3 lie in memory, which a filter cannot read; the C library falls back to clone.
  refuse(ENOSYS, "clone3");
  for (const std::uint64_t flag : kNewNamespaces) refuse(EPERM, "clone", argument(0, SCMP_CMP_MASKED_EQ, flag, flag));
  // Only local sockets and Internet sockets are allowed; there is no network for the latter. Of netlink the questions
  // about interfaces are allowed where there is one.
  const std::uint64_t last = has_loopback ? AF_NETLINK : AF_INET6;
  for (std::uint64_t family = AF_INET + 1; family < last; ++family) {
    if (family != AF_INET6) refuse(EAFNOSUPPORT, "socket", argument(0, SCMP_CMP_EQ, family));
  }
  refuse(EAFNOSUPPORT, "socket", argument(0, SCMP_CMP_GT, last));
  if (has_loopback)
    refuse(EAFNOSUPPORT, "socket", argument(0, SCMP_CMP_EQ, AF_NETLINK), argument(2, SCMP_CMP_NE, NETLINK_ROUTE));
  for (const std::uint64_t request : {kPushInput, kConsole})
    refuse(EPERM, "ioctl", argument(1, SCMP_CMP_MASKED_EQ, 0xFFFFFFFF, request));
  refuse(EPERM, "personality", argument(0, SCMP_CMP_NE, kWhichPersonality));
  return ok;
}

}  // namespace

Expected<bool> refuse_system_calls(bool has_loopback) {
  if (::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) return false;
  // A call of another architecture, whose numbers mean other calls, kills the process. The default would kill only the
  // thread, and the other threads would go on.
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW));
  if (filter == nullptr || seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0 ||
      !add_rules(filter.get(), has_loopback))
    return our_fault("the list of refused system calls cannot be made");
  (void)seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE,
                         2);  // a binary tree: a call costs five comparisons, not eighty
  const int loaded = seccomp_load(filter.get());
  if (loaded == -EINVAL || loaded == -ENOSYS) return false;
  if (loaded != 0) return our_fault(std::string("cannot refuse system calls: ") + std::strerror(-loaded));
  return true;
}

}  // namespace kq::sandbox
