// The overview of one submitter, asked of the gateway's Service.
#pragma once

#include "producer/gateway/service.h"
#include "producer/overview/source.h"

namespace kq::gateway {

// Passes the questions of an overview on, in the name of a submitter. It lives for one call.
class ServiceSource final : public producer::OverviewSource {
 public:
  ServiceSource(Service& service, const Submitter& viewer) : service_(service), viewer_(viewer) {}

  Expected<BrokerReply> broker() override { return service_.broker(); }
  Expected<QueueReply> lanes(const QueueQuery& query) override { return service_.lanes(query); }
  Expected<VisibleJobs> jobs(const JobsQuery& query) override { return service_.visible_jobs(viewer_, query); }
  Expected<RunsReply> runs(const RunsQuery& query) override { return service_.runs(viewer_, query); }
  Expected<RunReply> run_page(const RunQuery& query) override { return service_.run_page(viewer_, query); }
  Expected<std::vector<JobStatus>> states(std::span<const Sequence> jobs) override {
    return service_.wait_any(jobs, 0, {});
  }
  Expected<RunRow> row(Sequence seq, const std::string& run, const std::string& label) override {
    return service_.find(viewer_, {.seq = seq, .run = run, .label = label});
  }
  std::int64_t unix_now_ms() const override { return service_.now_ms(); }

 private:
  Service& service_;
  const Submitter& viewer_;
};

}  // namespace kq::gateway
