// The unfinished jobs of a run: those of its rows, and former ones, whose rows other jobs have taken since.
//
// The rows of a run name its newest jobs only. A former job is found by the run in its record, which costs a look at
// every job that the store has.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/records.h"
#include "producer/client/client.h"

namespace kq::tools {

class RunJobs {
 public:
  explicit RunJobs(std::string run) : run_(std::move(run)) {}

  // Calls `visit` with the unfinished rows of each page of the run. The Error is not_found when there is no such run.
  // Must be called before each_former().
  using VisitRows = std::function<Expected<void>(const std::vector<RunRow>& unfinished)>;
  Expected<void> each_row(producer::Client& client, const VisitRows& visit);

  // A former job, and the submitters of the run who still want it. A job may have others, of other runs.
  struct Former {
    JobRecord job;
    std::vector<std::string> submitters;
  };
  // Calls `visit` with each page of the former jobs: first the queued ones, because a worker starts a queued job as
  // soon as a running one is cancelled.
  using VisitFormer = std::function<Expected<void>(const std::vector<Former>& former)>;
  Expected<void> each_former(producer::Client& client, const VisitFormer& visit) const;

 private:
  std::vector<std::string> wanted_by(const JobRecord& job) const;

  std::string run_;
  std::set<Sequence> unfinished_;     // of the rows
  std::set<std::string> submitters_;  // of the rows
};

}  // namespace kq::tools
