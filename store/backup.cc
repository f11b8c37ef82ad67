#include "store/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "store/rocks/rocks_store.h"
#include "sys/error_text.h"

namespace kq::store {
namespace {

namespace fs = std::filesystem;

Expected<void> sync(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int why = errno;
  if (file >= 0) close(file);
  if (!synced) return our_fault(path.string() + ": cannot be synced: " + sys::error_text(why));
  return {};
}

// Returns whether a copy leaves out the file of this name. "archive" has log files that the store no longer needs.
bool is_of_the_process(const fs::path& name) {
  return name == "LOCK" || name == "LOG" || name == "LOG.old" || name == "archive" || name == kReserveFile;
}

Expected<void> copy_files(const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path name = entry.path().filename();
    // Copies CURRENT last, because only CURRENT makes the directory a store.
    if (is_of_the_process(name) || name == "CURRENT" || !entry.is_regular_file()) continue;
    fs::copy_file(entry.path(), to / name);
    if (auto synced = sync(to / name); !synced) return synced;
  }
  if (auto synced = sync(to); !synced) return synced;
  fs::copy_file(from / "CURRENT", to / "CURRENT");
  for (const fs::path& path : {to / "CURRENT", to, fs::absolute(to).parent_path()}) {
    if (auto synced = sync(path); !synced) return synced;
  }
  return {};
}

// Returns whether another process has the store open for writing. RocksDB then holds a lock on the whole LOCK file; a
// copy has no such file.
bool is_in_use(const fs::path& dir) {
  const int file = open((dir / "LOCK").c_str(), O_RDONLY | O_CLOEXEC);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool locked = file >= 0 && fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  if (file >= 0) close(file);
  return locked;
}

Expected<Verified> verify_at(const std::string& dir, const std::function<void(const std::string&)>& report) {
  KQ_TRY_VALUE(const auto store, open_rocks_store(dir, OpenMode::read_only));
  auto found = verify(*store, report);
  if (found && found->problem_count > 0) {
    return our_fault("store at " + dir + " has " + std::to_string(found->problem_count) +
                     " problems; nothing was restored");
  }
  return found;
}

// Removes the files of a failed copy, and the directory where the copy made it, so that the copy can be tried again and
// no broker takes the directory for a store.
void undo_copy(const fs::path& dir, bool is_new) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, ignored)) fs::remove(entry.path(), ignored);
  if (is_new) fs::remove(dir, ignored);
}

}  // namespace

Expected<void> backup(Store& store, const std::string& dir) {
  return store.checkpoint(dir);
}

Expected<Verified> restore(const std::string& from, const std::string& dir,
                           const std::function<void(const std::string&)>& report) {
  try {
    if (fs::exists(dir) && (!fs::is_directory(dir) || !fs::is_empty(dir))) {
      return bad_input("nothing is restored to " + dir + ": it is not empty; name a new or an empty directory");
    }
    if (is_in_use(from)) {
      return bad_input("store at " + from +
                       " is in use by a running broker and changes while it is copied; make a backup with kq-ctl "
                       "backup, and restore that");
    }
    auto found = verify_at(from, report);
    if (!found) return found;
    const bool is_new = !fs::exists(dir);
    fs::create_directories(dir);
    try {
      const auto copied = copy_files(from, dir);
      found = copied ? verify_at(dir, report) : failure(copied.error());
    } catch (const fs::filesystem_error& error) {
      found = our_fault("restoring " + from + " to " + dir + ": " + error.what());
    }
    if (!found) undo_copy(dir, is_new);
    return found;
  } catch (const fs::filesystem_error& error) {
    return our_fault("restoring " + from + " to " + dir + ": " + error.what());
  }
}

}  // namespace kq::store
