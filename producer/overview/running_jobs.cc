#include "producer/overview/running_jobs.h"

#include <algorithm>

#include "core/limits.h"
#include "producer/overview/source.h"

namespace kq::producer {

Expected<void> RunningJobs::refresh(OverviewSource& source, std::uint64_t leased) {
  const std::size_t wanted = std::min<std::uint64_t>(leased, kRunningJobsMax);
  for (std::size_t question = 0; question < kRunningQuestionsMax; ++question) {
    const std::size_t missing = wanted - std::min(wanted, found_.size() + hidden_);
    if (missing == 0) {
      finish(true);
      return {};
    }
    const JobsQuery query{.state = JobState::leased,
                          .after_seq = after_,
                          .limit = static_cast<std::uint32_t>(std::min(missing, kQueryRowsMax))};
    KQ_TRY_VALUE(VisibleJobs page, source.jobs(query));
    hidden_ += page.hidden_count;
    after_ = page.reply.last_seq;
    std::ranges::move(page.reply.jobs, std::back_inserter(found_));
    if (page.reply.more) continue;
    finish(found_.size() + hidden_ >= wanted);
    return {};
  }
  return {};
}

void RunningJobs::finish(bool has_all) {
  by_worker_.clear();
  const Sequence lowest = found_.empty() ? 1 : found_.front().job.seq;
  for (JobRow& row : found_) by_worker_.emplace(row.worker, std::move(row));
  // Jobs of others are not in the list, so their lowest number is unknown here.
  first_ = has_all && hidden_ == 0 ? lowest : 1;
  found_.clear();
  hidden_ = 0;
  after_ = first_ - 1;
}

}  // namespace kq::producer
