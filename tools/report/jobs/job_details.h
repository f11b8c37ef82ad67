// What a page shows of one job: all columns of a row, sources, the log, raw samples, and the command that measures it
// again. Jobs are packed in groups, and a page unpacks a group when a reader opens one of its jobs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes/hash.h"
#include "core/records.h"

namespace kq::tools {

inline constexpr std::size_t kGroupJobsMax = 100;               // jobs that are packed together
inline constexpr std::size_t kShownSourceBytesMax = 64u << 10;  // of one file; the rest is left out
inline constexpr std::size_t kShownLogBytesMax = 16u << 10;
inline constexpr std::size_t kShownSamplesMax = 200;  // of one side of one case; more are thinned evenly

// Returns the content of a file of a row, or nothing where it cannot be read here.
using ReadSource = std::function<Expected<std::optional<std::string>>(const RunRow& row, const Hash& hash)>;

// A group of jobs in the making.
class JobGroup {
 public:
  Expected<void> add(const RunRow& row, const ReadSource& read);
  std::size_t size() const { return size_; }
  // Returns {"keys": [...], "units": [...], "files": {HASH: TEXT}, "jobs": [...]}.
  std::string json() const;

 private:
  Expected<void> add_file(const RunRow& row, const std::string& name, const Hash& hash, const char* role,
                          const ReadSource& read);

  std::size_t size_ = 0;
  std::string jobs_;
  std::map<Hash, std::string> files_;
};

}  // namespace kq::tools
