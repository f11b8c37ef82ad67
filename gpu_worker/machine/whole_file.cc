#include "gpu_worker/machine/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "sys/error_text.h"
#include "sys/fd.h"

namespace kq::worker {
namespace {

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(file, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace

Expected<void> write_whole_file(const std::string& path, std::string_view bytes, mode_t mode) {
  static std::atomic<std::uint64_t> number = 0;
  const std::string written = path + "." + std::to_string(::getpid()) + "-" + std::to_string(++number);
  sys::Fd file(::open(written.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  const bool is_whole = file && write_all(file.get(), bytes) && ::fchmod(file.get(), mode) == 0 &&
                        ::fsync(file.get()) == 0 && ::rename(written.c_str(), path.c_str()) == 0;
  if (is_whole) return {};
  const std::string reason = sys::error_text(errno);
  (void)::unlink(written.c_str());
  return our_fault("cannot write " + path + ": " + reason);
}

}  // namespace kq::worker
