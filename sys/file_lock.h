// An advisory lock on a file whose text names the holder of the lock.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "sys/fd.h"

namespace kq::sys {

// Holds the lock until it is destroyed or its process ends.
class FileLock {
 public:
  static constexpr mode_t kModeOfAll = 0666;  // every user of the machine may take the lock

  // Takes the lock, without waiting, and writes `holder` to the file. Returns an empty optional if another process
  // holds the lock. The file and its text stay when the lock is released. Every user of the machine may be able to
  // create files in its directory, so a symbolic link, a file with several hard links and anything but a regular file
  // are refused. `mode` is the mode of a file that this call creates; the umask does not change it.
  static Expected<std::optional<FileLock>> take(const std::string& path, std::string_view holder,
                                                mode_t mode = kModeOfAll);
  // Returns the first line of the file, which the last holder of the lock wrote. The text is untrusted, so this
  // function makes it printable and shortens it. Returns an empty text if the file cannot be read.
  static std::string holder_of(const std::string& path);

 private:
  explicit FileLock(Fd file) : file_(std::move(file)) {}

  Fd file_;
};

}  // namespace kq::sys
