// An OverviewSource for tests: jobs are rows in memory, and a test changes them.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "producer/overview/source.h"

namespace kq::producer {

using FakeRows = std::map<std::pair<std::string, std::string>, RunRow>;  // by run and label

// Returns the runs of the rows.
inline RunsReply runs_of(const FakeRows& rows) {
  RunsReply reply;
  for (const auto& [names, row] : rows) {
    if (reply.runs.empty() || reply.runs.back().run != names.first)
      reply.runs.push_back({.run = names.first, .submitter = "ada", .submitted_at_ms = 1'000});
  }
  return reply;
}

// Returns the page of a run that a query asks for, with at most `page_rows` rows.
inline RunReply page_of(const FakeRows& rows, const RunQuery& query, std::size_t page_rows) {
  RunReply reply;
  for (const auto& [names, row] : rows) {
    if (names.first != query.run || (!query.after_label.empty() && names.second <= query.after_label)) continue;
    if (reply.rows.size() == std::min<std::size_t>(query.limit, page_rows)) {
      reply.more = true;
      break;
    }
    reply.rows.push_back(row);
  }
  return reply;
}

class FakeSource : public OverviewSource {
 public:
  static constexpr std::int64_t kNowMs = 1'800'000'000'000;

  FakeRows rows;
  std::optional<Error> failure_of_all;
  std::size_t page_rows = 256;
  BrokerReply broker_reply{.version = "1", .workers = {{.worker = "w", .devices = {{}}, .last_seen_ms = kNowMs}}};
  QueueReply queue;

  // Adds a queued job.
  void add(const std::string& run, const std::string& label) {
    RunRow& row = rows[{run, label}];
    row.run = row.job.run = run;
    row.entry.seq = row.job.seq = rows.size();
    row.entry.submission.label = label;
    row.job.submitted_at_ms = 1'000;
  }
  void lease(const std::string& run, const std::string& label) {
    RunRow& row = rows.at({run, label});
    row.job.state = JobState::leased;
    row.job.leased_at_ms = kNowMs - 5'000;
  }
  void finish(const std::string& run, const std::string& label, VerdictName name, const std::string& message = "") {
    Evidence evidence;
    evidence.message = message;
    RunRow& row = rows.at({run, label});
    row.job.state = JobState::finished;
    row.job.finished_at_ms = kNowMs - 1'000;
    row.result.emplace().verdict = name == VerdictName::passed ? Verdict(Passed{}) : ended(name, std::move(evidence));
  }

  Expected<BrokerReply> broker() override {
    if (failure_of_all) return failure(*failure_of_all);
    BrokerReply reply = broker_reply;
    reply.queued = count(JobState::queued);
    reply.leased = count(JobState::leased);
    return reply;
  }
  Expected<QueueReply> lanes(const QueueQuery&) override { return queue; }
  Expected<VisibleJobs> jobs(const JobsQuery& query) override {
    VisibleJobs visible;
    for (const auto& [names, row] : rows) {
      if (row.job.state != query.state || row.job.seq <= query.after_seq) continue;
      visible.reply.jobs.push_back({.job = row.job, .label = names.second, .author = "", .worker = "w"});
    }
    return visible;
  }
  Expected<RunsReply> runs(const RunsQuery&) override { return runs_of(rows); }
  Expected<RunReply> run_page(const RunQuery& query) override {
    if (failure_of_all) return failure(*failure_of_all);
    return page_of(rows, query, page_rows);
  }
  Expected<std::vector<JobStatus>> states(std::span<const Sequence> jobs) override {
    std::vector<JobStatus> states;
    for (const Sequence seq : jobs) {
      const auto row = std::ranges::find_if(rows, [&](const auto& one) { return one.second.job.seq == seq; });
      if (row == rows.end()) continue;
      const auto& result = row->second.result;
      states.push_back({.seq = seq,
                        .state = row->second.job.state,
                        .verdict = result ? std::string(to_string(name_of(result->verdict))) : ""});
    }
    return states;
  }
  Expected<RunRow> row(Sequence, const std::string& run, const std::string& label) override {
    const auto found = rows.find({run, label});
    if (found == rows.end()) return failure(Error{ErrorKind::not_found, "there is no job " + label});
    return found->second;
  }
  std::int64_t unix_now_ms() const override { return kNowMs; }

 private:
  std::uint64_t count(JobState state) const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(rows, [&](const auto& one) { return one.second.job.state == state; }));
  }
};

}  // namespace kq::producer
