#include "tools/stack/state_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "net/endpoint.h"
#include "sys/error_text.h"
#include "sys/folder_rights.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

Expected<std::string> created_folder(const std::string& folder) {
  if (folder.empty()) return bad_input("the state folder's name is empty");
  std::error_code error;
  // Without absolute() the path of a missing folder would stay relative, and readers elsewhere would not find it.
  const fs::path path = fs::weakly_canonical(fs::absolute(folder, error), error);
  if (error) return bad_input("state folder " + folder + ": " + error.message());
  if (fs::is_directory(path, error)) {
    KQ_TRY(sys::check_others_cannot_write(path.string(), "state folder"));
    return path.string();
  }
  error.clear();  // a missing folder is no error
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error || ::mkdir(path.c_str(), 0700) != 0) {
    return bad_input("cannot make the state folder " + path.string() + ": " +
                     (error ? error.message() : sys::error_text(errno)));
  }
  return path.string();
}

}  // namespace

Expected<StateFolder> StateFolder::take(const std::string& folder) {
  Expected<std::string> path = created_folder(folder);
  if (!path) return failure(path.error());
  const std::string lock_path = producer::lock_file_of(*path);
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return bad_input(sys::error_text("cannot write into the state folder " + *path));
  StateFolder state(*path, lock);
  struct flock held;
  if (!producer::apply_lock(lock, F_OFD_SETLK, held)) {
    const StackRecord other = producer::read_record(lock_path).value_or(StackRecord{});
    return bad_input("state folder " + *path + " is in use by process " + std::to_string(other.pid) +
                     (other.url.empty() ? "" : ", its broker is --broker " + other.url) +
                     "; use that broker, or another --state");
  }
  state.stale_record_ = producer::read_record(lock_path);
  return state;
}

StateFolder::StateFolder(StateFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      stale_record_(std::move(other.stale_record_)) {}

StateFolder::~StateFolder() {
  if (lock_ >= 0) ::close(lock_);
}

void StateFolder::write(const StackRecord& record) {
  const std::string text = producer::text_of(record);
  // A reader between the two calls sees an empty file, which it treats as a stack that is starting.
  if (::ftruncate(lock_, 0) != 0 || ::pwrite(lock_, text.data(), text.size(), 0) < 0) return;
}

void StateFolder::clear() {
  if (::ftruncate(lock_, 0) != 0) return;
}

void record_last_up(const std::string& folder, const Environment& environment) {
  const auto usual = default_state_folder(environment);
  const auto made = usual ? created_folder(*usual) : usual;
  if (!made) return;
  const std::string path = producer::last_up_file_of(*made);
  // A reader sees the old path or the new one, never a part.
  const std::string next = path + "." + std::to_string(::getpid());
  std::ofstream file(next);
  file << folder;
  file.close();
  std::error_code ignored;
  if (file) fs::rename(next, path, ignored);
}

Expected<PrivateEndpoint> private_endpoint(const std::string& state_folder, const Environment& environment) {
  const std::string inside = state_folder + "/broker.sock";
  if (inside.size() <= net::kIpcPathBytesMax) return PrivateEndpoint{.url = "ipc://" + inside, .created_folder = ""};
  for (const std::string& base : {environment("XDG_RUNTIME_DIR"), std::string("/tmp")}) {
    std::string folder = base + "/kq-XXXXXX";
    const std::string::size_type length = folder.size() + std::strlen("/broker.sock");
    if (base.empty() || length > net::kIpcPathBytesMax || ::mkdtemp(folder.data()) == nullptr) continue;
    return PrivateEndpoint{.url = "ipc://" + folder + "/broker.sock", .created_folder = folder};
  }
  return our_fault(
      "cannot make a folder for the broker's socket in XDG_RUNTIME_DIR or /tmp; use a state folder with a path of at "
      "most " +
      std::to_string(net::kIpcPathBytesMax - std::strlen("/broker.sock")) + " bytes");
}

}  // namespace kq::tools
