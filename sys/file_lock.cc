#include "sys/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sys/error_text.h"
#include "sys/printable.h"

namespace kq::sys {
namespace {

constexpr std::size_t kHolderBytesMax = 256;

// Opens an existing file without O_CREAT: in a directory that all users may write, Linux refuses O_CREAT for a file of
// another user (fs.protected_regular).
Fd open_or_make(const std::string& path, mode_t mode) {
  constexpr int kHow = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd file(::open(path.c_str(), kHow));
  if (file || errno != ENOENT) return file;
  Fd made(::open(path.c_str(), kHow | O_CREAT | O_EXCL, mode));
  if (made) (void)::fchmod(made.get(), mode);  // open() has applied the umask to the mode
  return made || errno != EEXIST ? std::move(made) : Fd(::open(path.c_str(), kHow));
}

tl::unexpected<Error> failed(const std::string& path) {
  return our_fault(error_text(path));
}

}  // namespace

Expected<std::optional<FileLock>> FileLock::take(const std::string& path, std::string_view holder, mode_t mode) {
  Fd file = open_or_make(path, mode);
  if (!file) return failed(path);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return failed(path);
  if (!S_ISREG(found.st_mode) || found.st_nlink != 1)
    return our_fault(path + " is not a regular file with one hard link");
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed(path);
    return std::optional<FileLock>();
  }
  // The lock holds even if the holder's name cannot be written.
  if (::ftruncate(file.get(), 0) == 0) (void)!::pwrite(file.get(), holder.data(), holder.size(), 0);
  return std::optional(FileLock(std::move(file)));
}

std::string FileLock::holder_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::string text(kHolderBytesMax, '\0');
  const ssize_t n = file ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return printable(text.substr(0, text.find('\n')), kHolderBytesMax);
}

}  // namespace kq::sys
