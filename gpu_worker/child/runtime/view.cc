#include "gpu_worker/child/runtime/view.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

namespace kq::runtime {
namespace {

// While the view is built, "/" is a small tmpfs that holds the host's root and the new root.
constexpr char kHost[] = "/host";
constexpr char kRoot[] = "/new";
// Directories on which that tmpfs may be mounted. The first one that works is taken; it is hidden only for a short
// time.
constexpr const char* kPlaces[] = {"/tmp", "/mnt", "/proc"};

std::string failed(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  return parts;
}

// Creates the directories above the last part of the path, as mkdir -p does.
bool make_parents(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    if (::mkdir(path.substr(0, at).c_str(), 0755) != 0 && errno != EEXIST) return false;
  }
  return true;
}

// Creates an empty directory or file on which something of that kind can be mounted.
bool make_target(const std::string& path, bool is_directory) {
  if (!make_parents(path)) return false;
  if (is_directory) return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
  const int fd = ::open(path.c_str(), O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

struct MountAttributes {  // struct mount_attr of linux/mount.h, which does not go with sys/mount.h everywhere
  std::uint64_t set;
  std::uint64_t clear;
  std::uint64_t propagation;
  std::uint64_t user_namespace;
};
constexpr std::uint64_t kReadOnly = 1, kNoSuid = 2, kNoDev = 4;  // MOUNT_ATTR_*

// Adds restrictions to a mount and to all mounts below it. Kernels before 5.12 have no mount_setattr: there only the
// topmost mount can be changed, and the call must repeat the flags that it already has.
bool restrict_mount(const std::string& path, std::uint64_t attributes) {
  const MountAttributes wanted{attributes, 0, 0, 0};
  if (::syscall(SYS_mount_setattr, -1, path.c_str(), AT_RECURSIVE, &wanted, sizeof wanted) == 0) return true;
  if (errno != ENOSYS) return false;
  struct statvfs now {};
  if (::statvfs(path.c_str(), &now) != 0) return false;
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID;
  if ((attributes & kReadOnly) != 0 || (now.f_flag & ST_RDONLY) != 0) flags |= MS_RDONLY;
  if ((attributes & kNoDev) != 0 || (now.f_flag & ST_NODEV) != 0) flags |= MS_NODEV;
  if ((now.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  if ((now.f_flag & ST_NOATIME) != 0) flags |= MS_NOATIME;
  if ((now.f_flag & ST_RELATIME) != 0) flags |= MS_RELATIME;
  return ::mount(nullptr, path.c_str(), nullptr, flags, nullptr) == 0;
}

enum class Missing { skip, fail };

std::string bind_mount(const std::string& source, const std::string& place, std::uint64_t attributes, Missing missing) {
  const std::string from = kHost + source;
  const std::string to = kRoot + place;
  struct stat found {};
  if (::stat(from.c_str(), &found) != 0) return missing == Missing::skip ? "" : failed(source);
  if (!make_target(to, S_ISDIR(found.st_mode))) return failed("cannot make " + place);
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return failed("cannot bind " + source + " at " + place);
  if (!restrict_mount(to, attributes)) return failed("cannot restrict " + place);
  return {};
}

std::string add_link(const std::string& target, const std::string& place) {
  const std::string path = kRoot + place;
  return make_parents(path) && ::symlink(target.c_str(), path.c_str()) == 0 ? "" : failed("cannot link " + place);
}

std::string add_scratch(const std::vector<std::string>& fields) {
  const std::string room = "/scratch";
  const std::string data = "mode=0755,size=" + fields[1] + ",nr_inodes=" + fields[2];
  if (::mkdir(room.c_str(), 0755) != 0) return failed("a second scratch");
  if (::mount("tmpfs", room.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, data.c_str()) != 0)
    return failed("cannot mount a tmpfs");
  for (std::size_t i = 3; i < fields.size(); ++i) {
    const std::string part = room + "/" + std::to_string(i);
    const std::string to = kRoot + fields[i];
    // Every uid may write here, as in /tmp, because the uid of the child is not known yet.
    if (::mkdir(part.c_str(), 0755) != 0 || ::chmod(part.c_str(), 01777) != 0)
      return failed("cannot make room for " + fields[i]);
    if (!make_target(to, true)) return failed("cannot make " + fields[i]);
    if (::mount(part.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) return failed("cannot mount " + fields[i]);
  }
  return {};
}

std::string add_proc(const std::string& place) {
  const std::string to = kRoot + place;
  if (!make_target(to, true)) return failed("cannot make " + place);
  if (::mount("proc", to.c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0) return {};
  // Where parts of the host's /proc are covered by mounts, as in containers, the kernel refuses a new /proc in a user
  // namespace.
  return bind_mount("/proc", place, 0, Missing::fail);
}

std::string add(const std::vector<std::string>& fields) {
  const std::string& word = fields[0];
  if (word == "ro" && fields.size() == 3)
    return bind_mount(fields[1], fields[2], kReadOnly | kNoSuid | kNoDev, Missing::skip);
  if (word == "rw" && fields.size() == 3) return bind_mount(fields[1], fields[2], kNoSuid | kNoDev, Missing::fail);
  if (word == "dev" && fields.size() == 2) return bind_mount(fields[1], fields[1], kNoSuid, Missing::skip);
  if (word == "link" && fields.size() == 3) return add_link(fields[1], fields[2]);
  if (word == "scratch" && fields.size() >= 4) return add_scratch(fields);
  if (word == "proc" && fields.size() == 2) return add_proc(fields[1]);
  if (word == "work" && fields.size() == 2) return {};
  return "the view's plan has an unknown line: it begins with '" + word + "' and has " + std::to_string(fields.size()) +
         " fields";
}

// Mounts a tmpfs at "/", with the old root at /host and an empty root at /new. On failure it undoes its changes.
std::string enter_staging_root() {
  for (const char* place : kPlaces) {
    if (::mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") != 0) continue;
    if (::chdir(place) == 0 && ::mkdir("host", 0755) == 0 && ::mkdir("new", 0755) == 0 &&
        ::mount("new", "new", nullptr, MS_BIND, nullptr) == 0 && ::syscall(SYS_pivot_root, ".", "host") == 0) {
      return ::chdir("/") == 0 ? "" : failed("chdir");
    }
    const int error = errno;
    (void)::chdir("/");
    ::umount2(place, MNT_DETACH);
    errno = error;
  }
  return failed("cannot put a new root in place");
}

// Makes /new the root, read-only, and unmounts everything else.
std::string enter_new_root() {
  if (::mount(nullptr, kRoot, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) != 0) {
    return failed("cannot make the new root read-only");
  }
  if (::chdir(kRoot) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0) return failed("cannot enter the new root");
  // The old root now lies on top of the new one.
  if (::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) return failed("cannot unmount the old root");
  return {};
}

}  // namespace

std::vector<std::vector<std::string>> lines_of(std::string_view plan) {
  std::vector<std::vector<std::string>> lines;
  for (const std::string& line : split(plan, '\n')) {
    if (!line.empty()) lines.push_back(split(line, '\t'));
  }
  return lines;
}

Expected<void> make_view(std::string_view plan) {
  // The mounts made here must not propagate to the host, nor the host's into this namespace.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return our_fault(failed("cannot make mounts private"));
  if (std::string error = enter_staging_root(); !error.empty()) return our_fault(error);
  for (const std::vector<std::string>& line : lines_of(plan)) {
    if (std::string error = add(line); !error.empty()) return our_fault(error);
  }
  if (std::string error = enter_new_root(); !error.empty()) return our_fault(error);
  return {};
}

}  // namespace kq::runtime
