#include "broker/shell/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kq::broker {

Expected<LockFile> LockFile::take(const std::string& path, const std::string& what) {
  // Close-on-exec, so that no child keeps the lock after us. Never removed: a lock on a file that someone unlinked
  // guards nothing.
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return bad_input(path + ": " + std::strerror(errno) + "; the lock of " + what + " must be writable");
  LockFile lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return bad_input(what + " is in use by another kq-broker; " + path + " is locked");
  return our_fault(path + ": " + std::strerror(errno));
}

LockFile::LockFile(LockFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

LockFile::~LockFile() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace kq::broker
