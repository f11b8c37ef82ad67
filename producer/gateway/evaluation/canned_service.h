// A Service for tests, whose broker is a table: it accepts every job, and a job is finished once a test says how.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "producer/gateway/service.h"

namespace kq::gateway::evaluation {

struct CannedService final : Service {
  std::map<std::string, RunRow> rows{};     // by label
  std::vector<producer::PackedJob> jobs{};  // all submitted jobs
  std::function<std::optional<Result>(const Submission&)> result = [](const Submission&) { return std::nullopt; };
  std::optional<Error> error{};  // what every request fails with
  JobAck ack{.acceptance = Acceptance::accepted, .seq = 0, .state = JobState::queued, .reason = {}};
  std::int64_t clock_ms = 1'000'000;
  std::vector<std::int64_t> waits{};
  mutable std::uint64_t names = 0;

  Expected<std::vector<SubmittedJob>> submit(const Submitter&, const std::string& run,
                                             std::span<const producer::PackedJob> packed) override {
    if (error) return failure(*error);
    std::vector<SubmittedJob> sent;
    for (const producer::PackedJob& job : packed) {
      jobs.push_back(job);
      RunRow row;
      row.run = run;
      row.entry = {static_cast<Sequence>(jobs.size()), job.submission};
      row.job.seq = row.entry.seq;
      row.result = result(job.submission);
      row.job.state = row.result ? JobState::finished : JobState::queued;
      const JobId id{row.entry.seq, run, job.submission.label};
      rows[id.text()] = std::move(row);
      sent.push_back({id, ack});
    }
    return sent;
  }
  Expected<RunRow> find(const Submitter&, const JobId& id, bool) override {
    if (error) return failure(*error);
    const auto found = rows.find(id.text());
    if (found == rows.end()) return failure({ErrorKind::not_found, "there is no such job"});
    return found->second;
  }
  Expected<RunRow> wait(const Submitter& submitter, const JobId& id, std::int64_t wait_ms, bool with_samples,
                        const std::function<bool()>& abandoned) override {
    waits.push_back(wait_ms);
    if (abandoned()) return failure({ErrorKind::interrupted, "the client has gone"});
    return find(submitter, id, with_samples);
  }
  Expected<std::vector<JobStatus>> wait_any(std::span<const Sequence> seqs, std::int64_t wait_ms,
                                            const std::function<bool()>&) override {
    if (error) return failure(*error);
    clock_ms += wait_ms;
    std::vector<JobStatus> states;
    for (const auto& [id, row] : rows) {
      if (std::ranges::find(seqs, row.job.seq) == seqs.end()) continue;
      JobStatus status;
      status.seq = row.job.seq;
      status.state = row.job.state;
      states.push_back(status);
    }
    return states;
  }
  Expected<JobStatus> status(const Submitter& submitter, const JobId& id) override {
    const auto row = find(submitter, id, false);
    if (!row) return failure(row.error());
    JobStatus status;
    status.state = row->job.state;
    return status;
  }
  Expected<JobAction> cancel(const Submitter& submitter, const JobId& id) override {
    const auto row = find(submitter, id, false);
    if (!row) return failure(row.error());
    return JobAction{.seq = id.seq, .done = true, .state = JobState::finished, .reason = {}};
  }
  Expected<FileReply> file(const Submitter&, const JobId&, const Hash&) override { return FileReply{}; }
  Expected<RunsReply> runs(const Submitter&, const RunsQuery&) override { return RunsReply{}; }
  Expected<RunReply> run_page(const Submitter&, const RunQuery&) override { return RunReply{}; }
  Expected<BoardReply> board_page(const BoardQuery&) override { return BoardReply{}; }
  Expected<BrokerReply> broker() override { return error ? Expected<BrokerReply>(failure(*error)) : BrokerReply{}; }
  Expected<StatsReply> statistics() override { return error ? Expected<StatsReply>(failure(*error)) : StatsReply{}; }
  Expected<VisibleJobs> visible_jobs(const Submitter&, const JobsQuery&) override { return VisibleJobs{}; }
  Expected<QueueReply> lanes(const QueueQuery&) override { return QueueReply{}; }
  Expected<JobAction> retry(Sequence seq) override { return JobAction{.seq = seq, .reason = ""}; }
  Expected<void> pause(const Pause&) override { return {}; }
  Expected<void> drain(const Drain&) override { return {}; }
  bool is_stopping() const override { return false; }
  std::int64_t now_ms() const override { return clock_ms; }
  std::string random_name() const override { return "name" + std::to_string(++names); }
};

}  // namespace kq::gateway::evaluation
