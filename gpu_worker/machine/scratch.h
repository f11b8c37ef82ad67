// The private directory of one child, and reading what a child wrote there.
//
//   src/   the job's files; the child may read them
//   work/  the child's current directory
//   out/   what a build child makes
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/messages.h"

namespace kq::worker {

// Owns the directory of one child. The destructor removes it.
class Scratch {
 public:
  // Removes what is at `parent`/`name` and makes the directory anew. work/ and out/ belong to user `uid`, or to this
  // process's user if `uid` is 0.
  static Expected<Scratch> make(const std::string& parent, const std::string& name, std::uint32_t uid);
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&& other) noexcept;
  ~Scratch();

  // Removes the directory before the destructor does. Fails if a part of it cannot be removed.
  Expected<void> remove();

  const std::string& dir() const { return dir_; }
  std::string out() const { return dir_ + "/out"; }

  // Writes a new file in src/. The name must not have a slash; validate() in core/submission.h has checked that too.
  Expected<void> put(std::string_view name, std::string_view bytes) const;
  // Copies the files that a build made for the run (module.cubin, launch, kq_*) from the directory `from` into src/,
  // and overwrites files of the submission with these names. Other files of the build, such as "facts", are not copied.
  Expected<void> put_all(const std::string& from) const;

 private:
  explicit Scratch(std::string dir) : dir_(std::move(dir)) {}
  std::string dir_;
};

// Returns the content of the file with this hash. Fails with ErrorKind::our_fault if the lease came without it.
Expected<std::string> file_of(const Lease& lease, const Hash& hash);
// Returns whether a file of the submission, or of its problem, has one of the words.
bool names_any(const Lease& lease, std::initializer_list<std::string_view> words);
// Returns the name of the problem's file in src/: its own, with underscores in front while the submission has a file of
// the same name.
std::string problem_file(const Lease& lease);
// Writes the problem's file and, if `with_submission`, the submission's files into src/.
Expected<void> put_sources(const Scratch& scratch, const Lease& lease, bool with_submission);

// How much a directory may hold while a child writes to it.
struct DirectoryLimit {
  std::uint64_t bytes = 0;    // allocated on the disk: holes of sparse files do not count
  std::uint32_t entries = 0;  // files and directories
};
inline constexpr int kDirectoryDepthMax = 64;
// Whether a directory holds more than the limit, is nested deeper than kDirectoryDepthMax or has a directory that this
// process may not read. Links are not followed. Files that vanish during the count are ignored.
bool holds_more_than(const std::string& dir, const DirectoryLimit& limit);

// Returns at most `bytes_max` bytes of a regular file that a child made. Never follows a link or blocks on a pipe.
Expected<std::string> read_child_file(const std::string& path, std::size_t bytes_max);

}  // namespace kq::worker
