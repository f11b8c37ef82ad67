// An advisory lock on a file that says who has it: held for as long as the object lives or its process does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sys/fd.h"

namespace kq::sys {

class FileLock {
 public:
  // Nothing where somebody else has it. The file stays behind, empty of meaning, and anybody on the machine may open
  // it: so it is neither a link nor what somebody linked here.
  static Expected<std::optional<FileLock>> take(const std::string& path, std::string_view holder);
  // What the one who has it wrote there, as untrusted text of one line.
  static std::string holder_of(const std::string& path);

 private:
  explicit FileLock(Fd file) : file_(std::move(file)) {}

  Fd file_;
};

}  // namespace kq::sys
