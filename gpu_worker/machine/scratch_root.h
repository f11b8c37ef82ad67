// The directory of one worker's scratch files, in a state directory that several may share: gone with it. Where a
// worker was killed the next one removes it: a lock in it tells that nobody is there any more, which a process number
// would not, as another container or host has others.
#pragma once

#include <optional>
#include <string>

#include "sys/file_lock.h"

namespace kq::worker {

class ScratchRoot {
 public:
  // In `state`, which it makes. Removes what others left there.
  static Expected<ScratchRoot> make(const std::string& state);
  ScratchRoot(ScratchRoot&& other) noexcept;
  ScratchRoot& operator=(ScratchRoot&&) = delete;
  ~ScratchRoot();

  const std::string& dir() const { return dir_; }

 private:
  explicit ScratchRoot(std::string dir) : dir_(std::move(dir)) {}

  std::string dir_;
  std::optional<sys::FileLock> lock_;
};

}  // namespace kq::worker
