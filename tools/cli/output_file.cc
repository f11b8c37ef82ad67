#include "tools/cli/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "sys/error_text.h"

namespace kq::tools {
namespace {

constexpr std::size_t kBufferBytes = 64u << 10;

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return our_fault("cannot write " + (path == "-" ? "standard output" : path) + ": " + sys::error_text(error));
}

constexpr int kOpensMax = 16;  // attempts to open a temporary file that other processes keep renaming

// Opens and locks the temporary file `path`, and empties it. Returns bad input when another process writes the target.
Expected<int> open_locked(const std::string& path, const std::string& target) {
  for (int i = 0; i < kOpensMax; ++i) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return bad_input(sys::error_text("cannot create a file beside " + target));
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd);
      return bad_input(target + " is being written by another process; name another file, or wait for it");
    }
    // On a file system without locks any other error of flock() is ignored: the last of two writers wins.
    //
    // The process that had the lock before may have renamed or removed the file between our open() and flock(). Then
    // the path names another file, and the attempt is repeated.
    struct stat ours {
    }, there{};
    if (::fstat(fd, &ours) == 0 && ::lstat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
        ours.st_dev == there.st_dev && ::ftruncate(fd, 0) == 0) {
      return fd;
    }
    ::close(fd);
  }
  return our_fault("cannot create a file beside " + target + ": other processes keep renaming or removing it");
}

}  // namespace

std::string default_file_name(const std::string& run, const std::string& suffix) {
  std::string name = run + suffix;
  std::ranges::replace(name, '/', '-');
  return name.starts_with('.') || name.starts_with('-') ? "run" + name : name;
}

bool ends_as_a_file(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  std::error_code ignored;
  return ending.size() > 1 && std::isalpha(static_cast<unsigned char>(ending[1])) != 0 &&
         !std::filesystem::is_directory(path, ignored);
}

// Opens a device or a pipe. Renaming a file to its path would remove it.
Expected<OutputFile> OutputFile::open_in_place(std::string path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return bad_input(sys::error_text("cannot write to " + path));
  return OutputFile(std::move(path), "", fd);
}

Expected<OutputFile> OutputFile::open(std::string path) {
  if (path.empty()) return bad_input("the name of the file to write is empty");
  if (path == "-") return OutputFile(std::move(path), "", STDOUT_FILENO);
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (is_directory(status)) return bad_input(path + " is a folder; the name of a file is needed");
  if (exists(status) && !is_regular_file(status)) return open_in_place(std::move(path));
  const std::filesystem::path target(path);
  std::string temporary = target.parent_path() / ("." + target.filename().string() + ".partial");
  const Expected<int> fd = open_locked(temporary, path);
  if (!fd) return failure(fd.error());
  return OutputFile(std::move(path), std::move(temporary), *fd);
}

OutputFile::OutputFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      buffer_(std::exchange(other.buffer_, {})) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (fd_ > STDERR_FILENO) ::close(fd_);
}

Expected<void> OutputFile::write(std::string_view text) {
  buffer_ += text;
  return buffer_.size() < kBufferBytes ? Expected<void>() : flush();
}

Expected<void> OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot_write(path_, errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
  return {};
}

Expected<void> OutputFile::commit() {
  if (const auto flushed = flush(); !flushed) return flushed;
  if (temporary_.empty()) return {};
  if (::fsync(fd_) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) return cannot_write(path_, errno);
  temporary_.clear();
  // The rename changes the folder, which must be flushed to disk too.
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const int folder_fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd >= 0) {
    ::fsync(folder_fd);
    ::close(folder_fd);
  }
  return {};
}

}  // namespace kq::tools
