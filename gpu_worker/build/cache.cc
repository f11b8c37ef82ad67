#include "gpu_worker/build/cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/version.h"
#include "gpu_worker/scratch.h"

namespace kq {
namespace {

namespace fs = std::filesystem;

// All of a build or an Error: an entry with a file missing would fail this submission for good.
Expected<void> copy_build(const std::string& from, const std::string& to) {
  std::error_code error;
  std::size_t files = 0;
  std::uintmax_t bytes = 0;
  for (fs::directory_iterator found(from, error), end; !error && found != end; found.increment(error)) {
    if (found->symlink_status(error).type() != fs::file_type::regular) continue;  // nothing a build of ours makes
    const auto content = read_child_file(found->path(), kBuildBytesMax + 1);
    if (!content) return failure(content.error());
    bytes += content->size();
    if (++files > kBuildFilesMax || bytes > kBuildBytesMax) {
      return bad_input("the build made more than " + std::to_string(kBuildFilesMax) + " files or " + std::to_string(kBuildBytesMax) + " bytes");
    }
    std::ofstream out(to + "/" + found->path().filename().string(), std::ios::binary);
    out << *content;
    if (!out.flush()) return our_fault("cannot write into " + to);
  }
  if (error) return our_fault("cannot read " + from + ": " + error.message());
  return {};
}

}  // namespace

Hash build_key(const Submission& submission, const std::string& arch, const Software& software) {
  std::string text = "kq-build/2\n";
  const auto put = [&text](std::string_view value) { text += std::to_string(value.size()) + ":" + std::string(value) + "\n"; };
  put(kVersion);  // the harness that reads the sources comes with it
  put(kEvaluatorVersion);
  put(to_string(submission.backend));
  put(arch);
  for (const std::string& version : {software.python, software.torch, software.triton, software.cuda}) put(version);
  for (const SourceFile& file : submission.files) {
    put(file.name);
    put(as_bytes(file.hash));
  }
  return sha256(text);
}

std::string BuildCache::entry(const Hash& key) const {
  const std::string hex = to_hex(key);
  return dir_ + "/" + hex.substr(0, 2) + "/" + hex;
}

std::optional<std::string> BuildCache::find(const Hash& key) const {
  std::error_code error;
  const std::string path = entry(key);
  if (fs::is_directory(path, error)) return path;
  return std::nullopt;
}

void BuildCache::remove(const Hash& key) const {
  std::error_code ignored;  // what is left is found damaged again
  fs::remove_all(entry(key), ignored);
}

Expected<std::string> BuildCache::put(const Hash& key, const std::string& from) const {
  const std::string path = entry(key);
  const std::string temporary = path + ".part" + std::to_string(::getpid());
  std::error_code error;
  fs::remove_all(temporary, error);
  fs::create_directories(temporary, error);
  if (error) return our_fault("cannot make " + temporary + ": " + error.message());
  if (auto copied = copy_build(from, temporary); !copied) {
    fs::remove_all(temporary, error);
    return failure(copied.error());
  }
  fs::rename(temporary, path, error);
  if (error) fs::remove_all(temporary, error);  // another worker was first, with the same content
  if (!find(key)) return our_fault("cannot make " + path);
  return path;
}

}  // namespace kq
