// One broker per store and per address: an advisory lock on a file, held for as long as the object lives or its process
// does.
#pragma once

#include <string>

#include "core/base/error.h"

namespace kq::broker {

class LockFile {
 public:
  // `what` names the thing that is guarded, for the sentence that says who has it. The file stays behind, empty of
  // meaning.
  static Expected<LockFile> take(const std::string& path, const std::string& what);

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();

 private:
  explicit LockFile(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace kq::broker
