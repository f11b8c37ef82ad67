#include "store/disk_space.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "sys/error_text.h"

namespace kq::store {
namespace {

// Allocates the whole file or none of it. On a file system that cannot allocate space without writing it, there is no
// reserve.
void make_reserve(const std::string& path, std::uint64_t bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool made = fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0;
  close(fd);
  if (!made) unlink(path.c_str());
}

}  // namespace

Expected<std::uint64_t> free_bytes(const std::string& dir) {
  struct statvfs disk = {};
  if (statvfs(dir.c_str(), &disk) != 0) {
    return our_fault(sys::error_text("store at " + dir + ": the free space of its disk cannot be read"));
  }
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

Expected<DiskSpace> DiskSpace::watch(const std::string& dir, const SpaceMarks& marks) {
  DiskSpace space(dir, marks);
  KQ_TRY(space.measure());
  return space;
}

Expected<Space> DiskSpace::measure() {
  const std::string reserve = (std::filesystem::path(dir_) / kReserveFile).string();
  auto free = free_bytes(dir_);
  if (!free) return failure(std::move(free.error()));
  std::error_code no_file;
  const bool reserved =
      marks_.reserve_bytes == 0 || std::filesystem::file_size(reserve, no_file) == marks_.reserve_bytes;
  if (*free < marks_.low_bytes) {
    nearly_full_ = true;
    // The space is free from here on for the next commits. The caller admits only results.
    unlink(reserve.c_str());
  } else if (*free >= marks_.low_bytes + marks_.low_bytes / 2 + (reserved ? 0 : marks_.reserve_bytes)) {
    nearly_full_ = false;
    if (!reserved) make_reserve(reserve, marks_.reserve_bytes);
  }
  free = free_bytes(dir_);
  if (!free) return failure(std::move(free.error()));
  return Space{.free_bytes = *free, .nearly_full = nearly_full_};
}

}  // namespace kq::store
