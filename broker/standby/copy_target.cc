#include "broker/standby/copy_target.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "sys/error_text.h"

namespace kq::broker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileNameMax = 64;
constexpr mode_t kMode = 0640;

tl::unexpected<Error> failed(const std::string& path) {
  return our_fault(path + ": " + sys::error_text(errno));
}

// The files of RocksDB have such names.
bool is_file_name(const std::string& name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_'; };
  return !name.empty() && name.size() <= kFileNameMax && name.front() != '.' && std::ranges::all_of(name, is_plain);
}

Expected<void> sync_directory(const std::string& path) {
  const sys::Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return failed(path);
  return {};
}

}  // namespace

Expected<CopyTarget> CopyTarget::begin(const std::string& store_dir) {
  CopyTarget target(store_dir);
  std::error_code error;
  fs::remove_all(target.dir_, error);
  if (!error) fs::create_directories(target.dir_, error);
  if (error) return our_fault(target.dir_ + ": " + error.message());
  return target;
}

Expected<void> CopyTarget::write(const std::string& name, std::uint64_t offset, std::string_view bytes) {
  if (!is_file_name(name)) return our_fault("a copy of a store has a file with the name '" + name + "'");
  const std::string path = dir_ + "/" + name;
  if (offset == 0) {
    KQ_TRY(close_file());
    file_ = sys::Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
    if (!file_) return failed(path);
    name_ = name;
    written_ = 0;
  }
  if (name != name_ || offset != written_) return our_fault(path + ": a part of the copy is missing");
  while (!bytes.empty()) {
    const ssize_t length = ::write(file_.get(), bytes.data(), bytes.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return failed(path);
    written_ += static_cast<std::uint64_t>(length);
    bytes.remove_prefix(static_cast<std::size_t>(length));
  }
  return {};
}

Expected<void> CopyTarget::close_file() {
  if (file_ && ::fsync(file_.get()) != 0) return failed(dir_ + "/" + name_);
  file_ = {};
  return {};
}

Expected<void> CopyTarget::finish() {
  KQ_TRY(close_file());
  KQ_TRY(sync_directory(dir_));
  const std::string replaced = store_dir_ + ".replaced";
  std::error_code error;
  fs::remove_all(replaced, error);
  if (!error && fs::exists(store_dir_)) fs::rename(store_dir_, replaced, error);
  if (!error) fs::rename(dir_, store_dir_, error);
  if (error) return our_fault("the copy of the store cannot be moved to " + store_dir_ + ": " + error.message());
  return sync_directory(fs::absolute(store_dir_).parent_path().string());
}

}  // namespace kq::broker
