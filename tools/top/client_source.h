// Asks a broker what kq-top shows, over one client.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "producer/client/client.h"
#include "producer/overview/source.h"

namespace kq::tools {

// The questions of an overview, and the metrics of the broker.
class TopSource : public producer::OverviewSource {
 public:
  virtual Expected<StatsReply> statistics() = 0;
};

// One thread asks. Any thread may call answered_at_ms().
class ClientSource final : public TopSource {
 public:
  ClientSource(producer::Client client, std::function<std::int64_t()> unix_now_ms)
      : client_(std::move(client)), unix_now_ms_(std::move(unix_now_ms)), answered_at_ms_(unix_now_ms_()) {}

  Expected<BrokerReply> broker() override { return ask<BrokerReply>(BrokerQuery{}); }
  Expected<QueueReply> lanes(const QueueQuery& query) override { return ask<QueueReply>(query); }
  Expected<producer::VisibleJobs> jobs(const JobsQuery& query) override;
  Expected<RunsReply> runs(const RunsQuery& query) override { return ask<RunsReply>(query); }
  Expected<RunReply> run_page(const RunQuery& query) override { return ask<RunReply>(query); }
  Expected<std::vector<JobStatus>> states(std::span<const Sequence> jobs) override;
  Expected<RunRow> row(Sequence seq, const std::string& run, const std::string& label) override;
  Expected<StatsReply> statistics() override { return ask<StatsReply>(StatsQuery{}); }
  std::int64_t unix_now_ms() const override { return unix_now_ms_(); }

  producer::Client& client() { return client_; }
  // Returns the Unix time of the last answer, or of the construction before the first one.
  std::int64_t answered_at_ms() const { return answered_at_ms_; }

 private:
  template <class Reply>
  Expected<Reply> ask(const ClientRequest& request) {
    Expected<Reply> reply = client_.ask_for<Reply>(request);
    if (reply) answered_at_ms_ = unix_now_ms_();
    return reply;
  }

  producer::Client client_;
  std::function<std::int64_t()> unix_now_ms_;
  std::atomic<std::int64_t> answered_at_ms_;
};

}  // namespace kq::tools
