#include "tools/top/client_source.h"

#include "producer/client/label_order.h"

namespace kq::tools {

Expected<producer::VisibleJobs> ClientSource::jobs(const JobsQuery& query) {
  producer::VisibleJobs visible;
  KQ_TRY_VALUE(visible.reply, ask<JobsReply>(query));
  return visible;
}

Expected<std::vector<JobStatus>> ClientSource::states(std::span<const Sequence> jobs) {
  StatusQuery query;
  query.seqs.assign(jobs.begin(), jobs.end());
  KQ_TRY_VALUE(StatusReply reply, ask<StatusReply>(query));
  return std::move(reply.jobs);
}

Expected<RunRow> ClientSource::row(Sequence seq, const std::string& run, const std::string& label) {
  KQ_TRY_VALUE(RunReply page,
               ask<RunReply>(RunQuery{.run = run, .after_label = producer::before_label(label), .limit = 1}));
  if (page.rows.empty() || page.rows[0].entry.seq != seq || page.rows[0].entry.submission.label != label)
    return failure(Error{ErrorKind::not_found, "run '" + run + "' has no job " + std::to_string(seq)});
  return std::move(page.rows[0]);
}

}  // namespace kq::tools
