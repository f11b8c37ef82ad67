// The build cache: the files that builds made, by the hash of everything that went into a build. All workers of a host
// share one directory.
//
//   DIR/ab/ab12..            one entry: its files, read-only, and `.entry` with the SHA-256, size and name of each
//   DIR/headers/GROUP/NAME/  a precompiled header, in the same form; compile children may read GROUP
//   DIR/tmp/                 entries that are being written
//
// Only worker processes write to the cache, and no child of a job sees it except for the headers. An entry is written
// to tmp/, synced and renamed to its place, so that it appears completely or not at all if its writer is killed. Files
// are hashed before they are used; an entry with another hash is removed and built again.
//
// Each put adds to a count of bytes. Beyond the limit the least recently used entries are removed, until the cache is a
// little below the limit. Entries that were used within the last minutes may still be copied from, so they stay while
// the cache is below twice the limit; at twice the limit put() fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/bytes/hash.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq::worker {

inline constexpr std::string_view kEntryListName = ".entry";
inline constexpr std::size_t kEntryListBytesMax = 64u << 10;
inline constexpr std::size_t kBuildFilesMax = 64;
inline constexpr std::uintmax_t kBuildBytesMax = 256u << 20;
inline constexpr std::uintmax_t kHeaderBytesMax = 2048ull << 20;  // of one precompiled header
inline constexpr std::uintmax_t kCacheBytesMax = 16ull << 30;

// Returns the hash of what shapes a build: sources, backend, device, architecture, software versions, and the compilers
// of this machine as its zygote reports them.
Hash build_key(const Submission& submission, DeviceKind device, const std::string& arch, const Software& software,
               const std::string& compilers);

struct CacheEntry {
  std::string name;  // the key in hex, or headers/GROUP/NAME
  std::uintmax_t bytes = 0;
  std::size_t file_count = 0;
  std::int64_t used_at_ms = 0;  // Unix time
};

class BuildCache {
 public:
  explicit BuildCache(std::string dir, std::uintmax_t bytes_max = kCacheBytesMax)
      : dir_(std::move(dir)), bytes_max_(bytes_max) {}

  bool has(const Hash& key) const;
  // Returns the directory of an entry whose content was verified, or nothing.
  std::optional<std::string> find(const Hash& key) const;
  void remove(const Hash& key) const;
  // Copies the regular files of the directory `from` into a new entry and returns its directory. Fails with
  // ErrorKind::bad_input if there are more than kBuildFilesMax files or kBuildBytesMax bytes.
  Expected<std::string> put(const Hash& key, const std::string& from) const;

  // Makes the directory with the precompiled headers of a group if needed, and returns it.
  Expected<std::string> headers(const Hash& group) const;
  // Returns whether there is this precompiled header, verified by its hash at the first call and whenever its files
  // have changed since. Reading half a gigabyte takes about a second. Removes a damaged one.
  bool has_header(const Hash& group, const std::string& name) const;
  Expected<void> put_header(const Hash& group, const std::string& name, const std::string& from) const;

  // Returns all entries, the least recently used one first.
  std::vector<CacheEntry> list() const;
  // Removes the damaged entries and returns their names.
  std::vector<std::string> verify() const;
  // Removes least recently used entries until at most `bytes_max` bytes are left, and files of killed writers. Returns
  // the number of removed entries.
  std::size_t prune(std::uintmax_t bytes_max) const;

 private:
  std::string entry(const Hash& key) const;
  Expected<void> publish(const std::string& from, const std::string& to, std::size_t files_max,
                         std::uintmax_t bytes_max) const;
  Expected<void> make_room(std::uintmax_t bytes) const;
  struct Pruned {
    std::size_t removed = 0;
    std::uintmax_t bytes_left = 0;
  };
  // Keeps entries that were used within the last `in_use_ms`. Returns nothing if another worker is pruning.
  std::optional<Pruned> prune_to(std::uintmax_t bytes_max, std::int64_t in_use_ms) const;

  // What all copies of a BuildCache in this process share. Other workers put entries too, so bytes are counted again
  // now and then.
  struct Count {
    std::atomic<std::uintmax_t> bytes = 0;
    std::atomic<std::uintmax_t> next_recount_bytes = 0;
    std::atomic<std::uint64_t> puts = 0;
  };
  // What all copies know of the precompiled headers that were verified in this process: by path, a stamp of their
  // files. There are a few for each version of torch.
  struct Verified {
    std::mutex mutex;  // held while it is verified
    std::string stamp;
  };
  struct Headers {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<Verified>> by_path;
  };
  std::shared_ptr<Verified> verified(const std::string& entry) const;
  std::string dir_;
  std::uintmax_t bytes_max_;
  std::shared_ptr<Count> count_ = std::make_shared<Count>();
  std::shared_ptr<Headers> headers_ = std::make_shared<Headers>();
};

}  // namespace kq::worker
