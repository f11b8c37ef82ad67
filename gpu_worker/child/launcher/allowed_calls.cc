#include "gpu_worker/child/launcher/allowed_calls.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace kq::launcher {
namespace {

// Calls are listed by name, because libseccomp knows the numbers. It skips names that this architecture or this version
// of libseccomp does not have.
constexpr const char* kAllowed[] = {
    // open descriptors, and reading files of the view
    "read", "pread64", "readv", "write", "writev", "close", "lseek", "fstat", "newfstatat", "stat", "lstat", "statx",
    "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents64", "fcntl", "dup", "dup3", "getcwd",
    // the driver and its device nodes
    "ioctl", "poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
    "eventfd2", "pipe2", "memfd_create", "ftruncate", "recvmsg", "sendmsg", "recvfrom", "sendto",
    // memory
    "mmap", "munmap", "mprotect", "mremap", "madvise", "brk", "mlock", "mlock2", "munlock", "mincore", "get_mempolicy",
    "set_mempolicy", "mbind", "membarrier",
    // waiting, time and the threads of this process
    "futex", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "sched_yield",
    "sched_getaffinity", "sched_setaffinity", "sched_getparam", "sched_getscheduler", "getcpu", "gettid", "getpid",
    "getppid", "getuid", "geteuid", "getgid", "getegid", "set_robust_list", "get_robust_list", "rseq",
    "set_tid_address", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "tgkill", "restart_syscall",
    "prlimit64", "getrlimit", "getrusage", "sysinfo", "uname", "getrandom", "arch_prctl", "prctl", "exit",
    "exit_group"};

struct Release {
  void operator()(void* filter) const { seccomp_release(filter); }
};

bool add_rules(scmp_filter_ctx filter) {
  bool ok = true;
  const auto allow = [&](const char* name, auto... arguments) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call == __NR_SCMP_ERROR) return;
    const int added = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, sizeof...(arguments), arguments...);
    ok = ok && (added == 0 || added == -EDOM);  // EDOM: not on this architecture
  };
  for (const char* name : kAllowed) allow(name);
  // Threads are allowed, processes are not. The flags of clone3 lie in memory, which a filter cannot read; the C
  // library falls back to clone.
  const int added = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  ok = ok && (added == 0 || added == -EDOM);
  allow("clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  // Files may be opened for reading, and device nodes also for writing; no file can be created.
  for (const auto mode : {O_RDONLY, O_RDWR})
    allow("openat", SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, static_cast<scmp_datum_t>(mode)));
  for (const auto mode : {O_RDONLY, O_RDWR})
    allow("open", SCMP_A1(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, static_cast<scmp_datum_t>(mode)));
  return ok;
}

}  // namespace

Expected<void> allow_few_system_calls() {
  const std::unique_ptr<void, Release> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
  if (filter == nullptr || seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0 ||
      !add_rules(filter.get()))
    return our_fault("the list of allowed system calls cannot be made");
  (void)seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  const int loaded = seccomp_load(filter.get());
  if (loaded != 0) return our_fault(std::string("cannot allow a few system calls only: ") + std::strerror(-loaded));
  return {};
}

}  // namespace kq::launcher
