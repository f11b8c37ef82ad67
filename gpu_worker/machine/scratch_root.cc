#include "gpu_worker/machine/scratch_root.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "scratch-";
constexpr char kLock[] = "lock";

// One without a lock is just being made, or is none of ours.
void remove_abandoned(const fs::path& state) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(state, ignored)) {
    const fs::path lock_file = entry.path() / kLock;
    if (!entry.path().filename().string().starts_with(kPrefix) || !fs::exists(lock_file, ignored)) continue;
    const auto lock = sys::FileLock::take(lock_file, "going\n");
    if (lock && *lock) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Expected<ScratchRoot> ScratchRoot::make(const std::string& state) {
  std::error_code error;
  fs::create_directories(state, error);
  if (error) return bad_input(state + ": " + error.message() + "; name a directory for scratch files with --state");
  remove_abandoned(state);
  std::string dir = state + "/" + kPrefix + std::to_string(::getpid()) + "-XXXXXX";
  if (::mkdtemp(dir.data()) == nullptr)
    return bad_input(dir + ": " + std::strerror(errno) + "; name a directory for scratch files with --state");
  (void)::chmod(dir.c_str(), 0755);  // children of other users pass through it
  ScratchRoot root(std::move(dir));
  // Where a file system has no locks nobody there takes one for abandoned.
  if (auto lock = sys::FileLock::take(root.dir_ + "/" + kLock, "process " + std::to_string(::getpid()) + "\n"))
    root.lock_ = std::move(*lock);
  return root;
}

ScratchRoot::ScratchRoot(ScratchRoot&& other) noexcept
    : dir_(std::exchange(other.dir_, {})), lock_(std::move(other.lock_)) {}

ScratchRoot::~ScratchRoot() {
  std::error_code ignored;
  if (!dir_.empty()) fs::remove_all(dir_, ignored);
}

}  // namespace kq::worker
