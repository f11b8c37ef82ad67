#include "tools/ctl/run_jobs.h"

#include "core/messages.h"
#include "tools/ctl/broker_requests.h"

namespace kq::tools {

Expected<void> RunJobs::each_row(producer::Client& client, const VisitRows& visit) {
  return each_run_page(client, run_, [&](const std::vector<RunRow>& rows) {
    std::vector<RunRow> unfinished;
    for (const RunRow& row : rows) {
      submitters_.insert(row.entry.submitter);
      if (row.job.state == JobState::finished) continue;
      unfinished_.insert(row.job.seq);
      unfinished.push_back(row);
    }
    return unfinished.empty() ? Expected<void>() : visit(unfinished);
  });
}

Expected<void> RunJobs::each_former(producer::Client& client, const VisitFormer& visit) const {
  for (const JobState state : {JobState::queued, JobState::leased}) {
    KQ_TRY(each_page(client, JobsQuery{.state = state}, [&](const JobsReply& page) {
      std::vector<Former> former;
      for (const JobRow& row : page.jobs) {
        if (row.job.run != run_ || unfinished_.contains(row.job.seq)) continue;
        if (auto submitters = wanted_by(row.job); !submitters.empty()) former.push_back({row.job, submitters});
      }
      return former.empty() ? Expected<void>() : visit(former);
    }));
  }
  return {};
}

// Returns those of the job's submitters who have rows in the run, or who submitted it first. Others submitted the same
// work in other runs, and want it after the run has given it up.
std::vector<std::string> RunJobs::wanted_by(const JobRecord& job) const {
  std::vector<std::string> names{job.submitter};
  names.insert(names.end(), job.also_for.begin(), job.also_for.end());
  std::erase_if(
      names, [&](const std::string& name) { return !submitters_.contains(name) && name != first_submitter_of(job); });
  return names;
}

}  // namespace kq::tools
