#include "gpu_worker/machine/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "core/blob.h"
#include "sys/error_text.h"
#include "sys/fd.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr int kNamesMax = 16;  // names that are tried for a directory while earlier ones cannot be removed

tl::unexpected<Error> cannot(const std::string& action, const std::string& path) {
  return our_fault(sys::error_text("cannot " + action + " " + path));
}

struct CloseDirectory {
  void operator()(DIR* open) const { ::closedir(open); }
};

// Removes the entries of an open directory, up to the first directory that is not empty. Returns the name of that
// directory, or nothing.
std::optional<std::string> remove_entries(int dir) {
  const int copy = ::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> open(copy < 0 ? nullptr : ::fdopendir(copy));
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || ::unlinkat(dir, name.c_str(), 0) == 0 ||
        ::unlinkat(dir, name.c_str(), AT_REMOVEDIR) == 0)
      continue;
    if (errno == ENOTEMPTY || errno == EEXIST) return name;
  }
  return std::nullopt;
}

sys::Fd open_directory(int dir, const char* name) {
  sys::Fd found(::openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (found || errno != EACCES) return found;
  // The directory has no read permission; chmod succeeds if it belongs to this process's user.
  (void)::fchmodat(dir, name, 0700, 0);
  return sys::Fd(::openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Removes a directory and all below it. Works with names relative to one open directory, because a child may have
// nested directories deeper than PATH_MAX or than the limit of open files. Links are not followed.
bool remove_tree(const std::string& dir) {
  sys::Fd at = open_directory(AT_FDCWD, dir.c_str());
  if (!at) return ::unlink(dir.c_str()) == 0 || errno == ENOENT;
  for (std::vector<std::string> path;;) {
    (void)::fchmod(at.get(), 0700);
    if (const auto next = remove_entries(at.get())) {
      at = open_directory(at.get(), next->c_str());
      if (!at) return false;
      path.push_back(*next);
      continue;
    }
    if (path.empty()) return ::rmdir(dir.c_str()) == 0;
    at = open_directory(at.get(), "..");
    if (!at || ::unlinkat(at.get(), path.back().c_str(), AT_REMOVEDIR) != 0) return false;
    path.pop_back();
  }
}

// Subtracts the entries and bytes below an open directory from `left`. Returns false if `left` is exceeded, or if there
// is a directory that may not be read or lies deeper than kDirectoryDepthMax. A child may replace entries meanwhile, so
// a name is used only to open a directory that is no link.
bool subtract_content(DirectoryLimit& left, int dir, int depth) {
  constexpr std::uint64_t kBlockBytes = 512;  // the unit of st_blocks on every file system
  const int copy = ::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> open(copy < 0 ? nullptr : ::fdopendir(copy));
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    struct stat status {};
    if (name == "." || name == "..") continue;
    if (::fstatat(dir, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == EACCES) return false;
      continue;
    }
    const std::uint64_t bytes = static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes;
    if (left.entries == 0 || bytes > left.bytes) return false;
    --left.entries;
    left.bytes -= bytes;
    if (!S_ISDIR(status.st_mode)) continue;
    const sys::Fd below(::openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!below && errno == EACCES) return false;
    if (below && (depth > kDirectoryDepthMax || !subtract_content(left, below.get(), depth + 1))) return false;
  }
  return true;
}

// Returns whether a run needs this file of a build. The files are written by gpu_worker/harness/kernels/build_child.py
// and gpu_worker/compile/builder.cc, and read by gpu_worker/child/launcher and the harness.
bool is_for_run(std::string_view name) {
  return name == "module.cubin" || name == "launch" || name.starts_with("kq_");
}

Expected<void> write_file(const std::string& path, std::string_view bytes) {
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) return cannot("create", path);
  while (!bytes.empty()) {
    const ssize_t size = ::write(file.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return cannot("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

}  // namespace

Expected<Scratch> Scratch::make(const std::string& parent, const std::string& name, std::uint32_t uid) {
  Scratch scratch(parent + "/" + name);
  // A directory that cannot be removed stays, and another name is used.
  for (int next = 1; !remove_tree(scratch.dir_) && next < kNamesMax; ++next)
    scratch.dir_ = parent + "/" + name + "." + std::to_string(next);
  std::error_code error;
  fs::create_directories(scratch.dir_, error);
  if (error) return our_fault("cannot make " + scratch.dir_ + ": " + error.message());
  for (const char* part : {"/src", "/work", "/out"}) {
    const std::string path = scratch.dir_ + part;
    const bool is_source = std::string_view(part) == "/src";
    if (::mkdir(path.c_str(), is_source ? 0755 : 0700) != 0) return cannot("make", path);
    if (!is_source && uid != 0 && ::chown(path.c_str(), uid, uid) != 0) return cannot("change the owner of", path);
  }
  return scratch;
}

Scratch::Scratch(Scratch&& other) noexcept : dir_(std::exchange(other.dir_, {})) {}
Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(dir_, other.dir_);
  return *this;
}
Scratch::~Scratch() {
  (void)remove();
}

Expected<void> Scratch::remove() {
  const std::string dir = std::exchange(dir_, {});
  if (dir.empty()) return {};
  if (!remove_tree(dir)) return cannot("remove", dir);
  return {};
}

Expected<void> Scratch::put(std::string_view name, std::string_view bytes) const {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos) {
    return our_fault("'" + std::string(name) + "' is not a plain file name");
  }
  return write_file(dir_ + "/src/" + std::string(name), bytes);
}

Expected<void> Scratch::put_all(const std::string& from) const {
  std::error_code error;
  for (fs::directory_iterator entry(from, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->is_regular_file(error) || error || !is_for_run(entry->path().filename().string())) continue;
    fs::copy_file(entry->path(), dir_ + "/src/" + entry->path().filename().string(),
                  fs::copy_options::overwrite_existing, error);
  }
  if (error) return our_fault("cannot copy " + from + " to " + dir_ + "/src: " + error.message());
  return {};
}

Expected<std::string> file_of(const Lease& lease, const Hash& hash) {
  for (const Blob& blob : lease.blobs) {
    if (blob.hash != hash) continue;
    Decompressor decompressor;
    auto content = content_of(decompressor, blob);
    if (!content) return our_fault("the lease came with a damaged blob: " + content.error().message);
    return content;
  }
  return our_fault("the lease came without blob " + to_hex(hash));
}

bool names_any(const Lease& lease, std::initializer_list<std::string_view> words) {
  const auto names_one = [&](const Hash& hash) {
    const auto text = file_of(lease, hash);
    return text && std::ranges::any_of(words, [&](std::string_view word) { return text->find(word) != text->npos; });
  };
  return std::ranges::any_of(lease.submission.files, names_one, &SourceFile::hash) ||
         names_one(lease.submission.problem.hash);
}

std::string problem_file(const Lease& lease) {
  std::string name = lease.submission.problem.file;
  const auto is_taken = [&](const SourceFile& file) { return file.name == name; };
  while (std::any_of(lease.submission.files.begin(), lease.submission.files.end(), is_taken)) name.insert(0, "_");
  return name;
}

Expected<void> put_sources(const Scratch& scratch, const Lease& lease, bool with_submission) {
  std::vector<SourceFile> files;
  if (with_submission) files = lease.submission.files;
  files.push_back({problem_file(lease), lease.submission.problem.hash});
  for (const SourceFile& file : files) {
    KQ_TRY_VALUE(const auto bytes, file_of(lease, file.hash));
    if (const auto put = scratch.put(file.name, bytes); !put) return put;
  }
  return {};
}

bool holds_more_than(const std::string& dir, const DirectoryLimit& limit) {
  const sys::Fd at(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DirectoryLimit left = limit;
  return at && !subtract_content(left, at.get(), 1);
}

Expected<std::string> read_child_file(const std::string& path, std::size_t bytes_max) {
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return cannot("read", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return our_fault(path + " is not a regular file");
  std::string bytes(std::min<std::size_t>(bytes_max, static_cast<std::size_t>(status.st_size)), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t size = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return cannot("read", path);
    if (size == 0) break;
    have += static_cast<std::size_t>(size);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace kq::worker
