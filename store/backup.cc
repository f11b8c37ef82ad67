#include "store/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "store/rocks_store.h"

namespace kq {
namespace {

namespace fs = std::filesystem;

Expected<void> sync(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  const int why = errno;
  if (file >= 0) close(file);
  if (!synced) return our_fault(path.string() + ": cannot be synced: " + std::strerror(why));
  return {};
}

// Files of a store that a copy has no use for.
bool is_of_the_process(const fs::path& name) {
  return name == "LOCK" || name == "LOG" || name == "LOG.old" || name == kReserveFile;
}

Expected<void> copy_files(const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path name = entry.path().filename();
    // CURRENT makes it a store and comes last.
    if (is_of_the_process(name) || name == "CURRENT") continue;
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

Expected<Verified> verify_at(const std::string& dir, const std::function<void(const std::string&)>& report) {
  const auto store = open_rocks_store(dir, OpenMode::read_only);
  if (!store) return failure(store.error());
  auto found = verify(**store, report);
  if (found && found->problems_n > 0) {
    return our_fault("store at " + dir + " has " + std::to_string(found->problems_n) + " problems; nothing was restored");
  }
  return found;
}

}  // namespace

Expected<void> backup(Store& store, const std::string& dir) {
  return store.checkpoint(dir);
}

Expected<Verified> restore(const std::string& from, const std::string& dir, const std::function<void(const std::string&)>& report) {
  try {
    if (fs::exists(dir) && (!fs::is_directory(dir) || !fs::is_empty(dir))) {
      return bad_input("nothing is restored to " + dir + ": it is not empty; name a new or an empty directory");
    }
    auto found = verify_at(from, report);
    if (!found) return found;
    fs::create_directories(dir);
    if (auto copied = copy_files(from, dir); !copied) return failure(std::move(copied.error()));
    return verify_at(dir, report);
  } catch (const fs::filesystem_error& error) {
    return our_fault("restoring " + from + " to " + dir + ": " + error.what());
  }
}

}  // namespace kq
