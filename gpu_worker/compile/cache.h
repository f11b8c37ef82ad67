// The build cache: what a build made, found again by the hash of everything that went into it. One directory for all
// workers of a host.
//
//   DIR/ab/ab12..            one entry: its files, read-only, and `.entry`, the SHA-256, size and name of each
//   DIR/headers/GROUP/NAME/  a precompiled header, the same way; compile children see GROUP, to read
//   DIR/tmp/                 what is being written
//
// Builders write it, and nobody else: no child of a job sees it, but for the headers. An entry is written aside,
// synced, and renamed to where it is found: it appears whole or not at all, whenever who writes it is killed. What is
// found is hashed before it is used; an entry that is not what was put is removed and built again.
//
// Its bytes are counted at each put: beyond the limit what was used longest ago goes, to a little below it. What was
// used a moment ago may still be copied from and stays, up to twice the limit; from there on nothing more is taken.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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

// Sources, backend, device, architecture, every version that shapes the outcome, and the compilers of this machine as
// its zygote names them.
Hash build_key(const Submission& submission, DeviceKind device, const std::string& arch, const Software& software,
               const std::string& compilers);

struct CacheEntry {
  std::string name;  // the key in hex, or headers/GROUP/NAME
  std::uintmax_t bytes = 0;
  std::size_t files_n = 0;
  std::int64_t used_at_ms = 0;  // Unix time
};

class BuildCache {
 public:
  explicit BuildCache(std::string dir, std::uintmax_t bytes_max = kCacheBytesMax)
      : dir_(std::move(dir)), bytes_max_(bytes_max) {}

  bool has(const Hash& key) const;
  // The entry's directory, its content verified.
  std::optional<std::string> find(const Hash& key) const;
  void remove(const Hash& key) const;
  // Takes over the files of `from`: regular files only, at most kBuildFilesMax of them and kBuildBytesMax in all.
  // Returns the entry.
  Expected<std::string> put(const Hash& key, const std::string& from) const;

  // Where the precompiled headers of a group are; the directory is there.
  Expected<std::string> headers(const Hash& group) const;
  bool has_header(const Hash& group, const std::string& name) const;
  Expected<void> put_header(const Hash& group, const std::string& name, const std::string& from) const;

  // Oldest use first.
  std::vector<CacheEntry> list() const;
  // Names of entries that are not what was put; they are removed.
  std::vector<std::string> verify() const;
  // Removes what was used longest ago until at most this many bytes are left, and what a killed writer left; returns
  // how many entries went.
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
  // Nothing: another worker is at it. What was used within `in_use_ms` stays.
  std::optional<Pruned> prune_to(std::uintmax_t bytes_max, std::int64_t in_use_ms) const;

  // Of all copies of it in this process. Other workers put too, so it is counted anew now and then.
  struct Count {
    std::atomic<std::uintmax_t> bytes = 0;
    std::atomic<std::uintmax_t> next_look_bytes = 0;
    std::atomic<std::uint64_t> puts = 0;
  };
  std::string dir_;
  std::uintmax_t bytes_max_;
  std::shared_ptr<Count> count_ = std::make_shared<Count>();
};

}  // namespace kq::worker
