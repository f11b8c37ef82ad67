// The directory for the scratch files of one worker.
//
// Several workers may share a state directory; each makes a scratch directory there and removes it at its end. A worker
// also removes the directories of workers that were killed: it finds them by a lock file that nobody holds. A process
// id would not tell, because workers in other containers or on other hosts have their own.
#pragma once

#include <optional>
#include <string>

#include "sys/file_lock.h"

namespace kq::worker {

// Returns the state directory of a worker that was started without --state.
std::string default_state_directory();

// Owns the scratch directory. The destructor removes it.
class ScratchRoot {
 public:
  // Makes the state directory `state` if needed and the scratch directory in it. Removes those of killed workers.
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
