#include "gpu_worker/machine/scratch_root.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sys/error_text.h"
#include "sys/folder_rights.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "scratch-";
constexpr char kLock[] = "lock";

// A directory without a lock file is just being made by another worker, or belongs to something else.
void remove_abandoned(const fs::path& state) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(state, ignored)) {
    const fs::path lock_file = entry.path() / kLock;
    if (!entry.path().filename().string().starts_with(kPrefix) || !fs::exists(lock_file, ignored)) continue;
    const auto lock = sys::FileLock::take(lock_file, "removing\n");
    if (lock && *lock) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

std::string default_state_directory() {
  if (const char* state = std::getenv("XDG_STATE_HOME")) return std::string(state) + "/kq/worker";
  if (const char* home = std::getenv("HOME")) return std::string(home) + "/.local/state/kq/worker";
  return "/tmp/kq-worker";
}

Expected<ScratchRoot> ScratchRoot::make(const std::string& state) {
  std::error_code error;
  fs::create_directories(state, error);
  if (error) return bad_input(state + ": " + error.message() + "; name a directory for scratch files with --state");
  KQ_TRY(sys::check_others_cannot_write(state, "state directory"));
  remove_abandoned(state);
  std::string dir = state + "/" + kPrefix + std::to_string(::getpid()) + "-XXXXXX";
  if (::mkdtemp(dir.data()) == nullptr)
    return bad_input(dir + ": " + sys::error_text(errno) + "; name a directory for scratch files with --state");
  (void)::chmod(dir.c_str(), 0755);  // children that run as other users must reach their directories
  ScratchRoot root(std::move(dir));
  // On a file system without locks remove_abandoned() gets no lock either, so no directory is removed.
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
