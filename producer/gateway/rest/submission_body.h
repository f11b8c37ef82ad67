// Reads the jobs of a request's body: JSON Lines as in a submissions.jsonl, one JSON value, or a form with files.
//
// A body carries every file itself. A line that names a file by its path is refused, because the path would be one of
// the gateway's own machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/gateway/http.h"
#include "producer/submit/pack.h"

namespace kq::gateway {

inline constexpr std::size_t kJobsPerRequestMax = 10'000;
inline constexpr std::size_t kMistakesShown = 20;

struct BodyJobs {
  std::vector<producer::PackedJob> jobs;
  std::vector<std::string> mistakes;  // one sentence each; a request with mistakes submits nothing
  std::vector<std::string> notes;     // one sentence each, on keys that are ignored and look like known ones
  std::string lines;                  // the jobs as JSON Lines; those of forms do not depend on the boundary
};

// Fails where the type of the body is unknown or the body as a whole is malformed. `now_ms` is Unix time.
Expected<BodyJobs> read_jobs(const Request& request, std::int64_t now_ms);

}  // namespace kq::gateway
