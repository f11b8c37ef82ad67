// The Service over a real broker.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/identity.h"
#include "producer/gateway/broker/broker_calls.h"
#include "producer/gateway/service.h"

namespace kq::gateway {

// How long one query may wait for a job at the broker. A longer wait is made of several queries, so that a lost reply
// costs a few seconds.
inline constexpr std::uint32_t kWaitPartMs = 5'000;
// The pause before a query that the broker answered at once although nothing had ended, because too many wait there.
inline constexpr std::int64_t kNoRoomPauseMs = 250;

// The last answer to a question that is asked again and again.
template <class Reply>
struct Cached {
  std::mutex mutex;
  std::optional<Expected<Reply>> reply;
  std::int64_t at_ms = 0;  // when it came
};

class BrokerService final : public Service {
 public:
  // `own_name` is the submitter of jobs of clients without a token. `key` is the name and role by which the broker
  // knows the gateway; without a key its name is empty. The calls must outlive the service.
  BrokerService(BrokerCalls& calls, std::string own_name, Identity key)
      : calls_(calls), own_name_(std::move(own_name)), key_(std::move(key)) {}

  Expected<std::vector<SubmittedJob>> submit(const Submitter& submitter, const std::string& run,
                                             std::span<const producer::PackedJob> jobs) override;
  Expected<RunRow> find(const Submitter& submitter, const JobId& id, bool with_samples) override;
  Expected<RunRow> wait(const Submitter& submitter, const JobId& id, std::int64_t wait_ms, bool with_samples,
                        const std::function<bool()>& abandoned) override;
  Expected<std::vector<JobStatus>> wait_any(std::span<const Sequence> jobs, std::int64_t wait_ms,
                                            const std::function<bool()>& abandoned) override;
  Expected<JobStatus> status(const Submitter& submitter, const JobId& id) override;
  Expected<JobAction> cancel(const Submitter& submitter, const JobId& id) override;
  Expected<FileReply> file(const Submitter& submitter, const JobId& id, const Hash& hash) override;
  Expected<RunsReply> runs(const Submitter& submitter, const RunsQuery& query) override;
  Expected<RunReply> run_page(const Submitter& submitter, const RunQuery& query) override;
  Expected<BoardReply> board_page(const BoardQuery& query) override;
  Expected<BrokerReply> broker() override;
  Expected<StatsReply> statistics() override;
  Expected<VisibleJobs> visible_jobs(const Submitter& submitter, const JobsQuery& query) override;
  Expected<QueueReply> lanes(const QueueQuery& query) override;
  Expected<JobAction> retry(Sequence seq) override;
  Expected<void> pause(const Pause& request) override;
  Expected<void> drain(const Drain& request) override;
  bool is_stopping() const override { return calls_.is_stopping(); }
  std::int64_t now_ms() const override;
  std::string random_name() const override;

 private:
  // Returns the name by which the broker counts the submitter's jobs, or nothing where it counts them as the gateway's.
  std::optional<std::string> counted_as(const Submitter& submitter) const;
  Expected<std::size_t> room_for(const Submitter& submitter);

  template <class Reply, class Query>
  Expected<Reply> cached(Cached<Reply>& cache);
  // Returns the row as the broker has it.
  Expected<RunRow> row_of(const Submitter& submitter, const JobId& id, bool with_samples);

  BrokerCalls& calls_;
  const std::string own_name_;
  const Identity key_;
  Cached<BrokerReply> broker_;
  Cached<StatsReply> statistics_;
};

// broker() and statistics() ask the broker at most this often, and wait this long, so that many health checks cost
// nothing.
inline constexpr std::int64_t kBrokerStateAgeMs = 500;
inline constexpr std::int64_t kBrokerStateTimeoutMs = 1'000;

// The name of a submitter's run at the broker, which fails where it is no valid name, and the reverse.
Expected<std::string> broker_run(const Submitter& submitter, const std::string& run);
std::string own_run(const Submitter& submitter, const std::string& broker_run);

}  // namespace kq::gateway
