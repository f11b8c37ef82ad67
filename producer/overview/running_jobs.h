// The jobs that workers run at present, found by reading the states of jobs in the order of their numbers.
//
// Theory of operation. The broker lists leased jobs by passing all jobs from a number on, so a reading begins at the
// lowest job that was leased last time and ends as soon as all leased jobs are found; their count is known. A reading
// that misses some, because an earlier job was leased later, is followed by one from the first job. A reading asks a
// few questions at a time and goes on with the next refresh, so a long queue never holds the broker for long.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/operations.h"

namespace kq::producer {

class OverviewSource;

inline constexpr std::size_t kRunningQuestionsMax = 8;  // of one refresh
inline constexpr std::size_t kRunningJobsMax = 8'192;   // that are listed

class RunningJobs {
 public:
  // `leased` is the number of leased jobs of all submitters.
  Expected<void> refresh(OverviewSource& source, std::uint64_t leased);
  // The jobs that the viewer may see, by the name of the worker.
  const std::multimap<std::string, JobRow>& by_worker() const { return by_worker_; }

 private:
  void finish(bool has_all);

  std::multimap<std::string, JobRow> by_worker_;
  std::vector<JobRow> found_;  // by the reading that goes on
  std::size_t hidden_ = 0;     // leased jobs of others that this reading passed
  Sequence first_ = 1;         // where a reading begins
  Sequence after_ = 0;         // where the reading that goes on continues
};

}  // namespace kq::producer
