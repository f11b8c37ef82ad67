// The build cache: what a build made, found again by the hash of everything that went into it.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "core/hash.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq {

// Sources, backend, architecture and every version that shapes the outcome.
Hash build_key(const Submission& submission, const std::string& arch, const Software& software);

// One directory per key under `dir`. An entry appears whole (rename) or not at all; two workers may share the directory.
class BuildCache {
 public:
  explicit BuildCache(std::string dir) : dir_(std::move(dir)) {}

  std::optional<std::string> find(const Hash& key) const;
  void remove(const Hash& key) const;
  // Takes over the files of `from`: regular files only, at most kBuildFilesMax of them and kBuildBytesMax in all. Returns the entry.
  Expected<std::string> put(const Hash& key, const std::string& from) const;

 private:
  std::string entry(const Hash& key) const;
  std::string dir_;
};

inline constexpr std::size_t kBuildFilesMax = 64;
inline constexpr std::uintmax_t kBuildBytesMax = 256u << 20;

}  // namespace kq
