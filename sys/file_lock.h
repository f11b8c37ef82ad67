// An advisory lock on a file that says who has it: held for as long as the object lives or its process does.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "sys/fd.h"

namespace kq::sys {

class FileLock {
 public:
  static constexpr mode_t kModeOfAll = 0666;  // any user of the machine may take the lock

  // Nothing where somebody else has it. The file stays behind, empty of meaning, and anybody on the machine may open
  // it: so it is neither a link nor what somebody linked here.
  // `mode` is the mode of a file that this makes, whatever the umask.
  static Expected<std::optional<FileLock>> take(const std::string& path, std::string_view holder,
                                                mode_t mode = kModeOfAll);
  // What the one who has it wrote there, as untrusted text of one line.
  static std::string holder_of(const std::string& path);

 private:
  explicit FileLock(Fd file) : file_(std::move(file)) {}

  Fd file_;
};

}  // namespace kq::sys
