// The private directory of one child: src/ to read, work/ to be in, out/ for what a build makes. Gone with its owner.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/messages.h"

namespace kq::worker {

class Scratch {
 public:
  // Makes `parent`/`name`, empty, whatever was there. `uid` 0 keeps our own user for work/ and out/.
  static Expected<Scratch> make(const std::string& parent, const std::string& name, std::uint32_t uid);
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&& other) noexcept;
  ~Scratch();

  // Now, and told when something of it stays. The destructor does the same in silence.
  Expected<void> remove();

  const std::string& dir() const { return dir_; }
  std::string out() const { return dir_ + "/out"; }

  // A file in src/. The name is a plain one: validate() in core/submission.h saw to that, and it is checked again.
  Expected<void> put(std::string_view name, std::string_view bytes) const;
  // Copies what a build made for a run into src/, over a file of its name: it is not the submission's to replace. What
  // else the build left is for the worker, and a name that the submission may have: "facts", "message".
  Expected<void> put_all(const std::string& from) const;

 private:
  explicit Scratch(std::string dir) : dir_(std::move(dir)) {}
  std::string dir_;
};

// The content of the file with this hash, or an Error of ours: the broker promised every file a lease needs.
Expected<std::string> file_of(const Lease& lease, const Hash& hash);
// The name the problem gets in src/: its own, or with underscores in front where the submission has a file of that
// name.
std::string problem_file(const Lease& lease);
// Puts the problem and, unless it is for the reference, the submission's files into src/.
Expected<void> put_sources(const Scratch& scratch, const Lease& lease, bool with_submission);

// What a directory may hold while a child writes to it, as the disk has it.
struct DirectoryLimit {
  std::uint64_t bytes = 0;
  std::uint32_t entries = 0;  // files and directories
};
inline constexpr int kDirectoryDepthMax = 64;
// Whether it holds more than that, or anything deeper, or a directory that we may not look into. Links are not
// followed; what goes while it is looked at counts for nothing.
bool holds_more_than(const std::string& dir, const DirectoryLimit& limit);

// At most `bytes_max` bytes of a regular file a child made; never follows a link, never blocks on a pipe.
Expected<std::string> read_child_file(const std::string& path, std::size_t bytes_max);

}  // namespace kq::worker
