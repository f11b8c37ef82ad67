// What an overview asks of a broker. The gateway answers for one submitter (producer/gateway/live/service_source.h),
// and kq-top with the rights of its own key (tools/top/client_source.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"

namespace kq::producer {

// The jobs of a reply that a viewer may see, with the names that the viewer gave to the runs.
struct VisibleJobs {
  JobsReply reply;
  std::size_t hidden_count = 0;  // jobs of others, which were removed from the reply
};

// Every function blocks until the broker answers. Lists have the limits of core/limits.h and come in pages.
class OverviewSource {
 public:
  virtual ~OverviewSource() = default;

  virtual Expected<BrokerReply> broker() = 0;
  virtual Expected<QueueReply> lanes(const QueueQuery& query) = 0;
  virtual Expected<VisibleJobs> jobs(const JobsQuery& query) = 0;
  virtual Expected<RunsReply> runs(const RunsQuery& query) = 0;
  virtual Expected<RunReply> run_page(const RunQuery& query) = 0;
  // Returns the states of those jobs that exist, in the order of their numbers, without waiting.
  virtual Expected<std::vector<JobStatus>> states(std::span<const Sequence> jobs) = 0;
  // Returns the row of one job. Fails with not_found for a job that does not exist or that the viewer may not see.
  virtual Expected<RunRow> row(Sequence seq, const std::string& run, const std::string& label) = 0;

  virtual std::int64_t unix_now_ms() const = 0;
};

}  // namespace kq::producer
