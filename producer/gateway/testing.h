// A Service for tests: jobs are rows in memory, and a test finishes them.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "producer/gateway/service.h"
#include "producer/overview/testing.h"

namespace kq::gateway {

class FakeService final : public Service {
 public:
  producer::FakeRows rows;
  std::vector<std::string> submitters;  // of the calls of submit()
  std::optional<Error> failure_of_all;
  std::optional<JobAck> answer;  // to every submitted job, in place of an acceptance
  std::vector<LeaderboardRow> board;
  std::size_t page_rows = 256;
  std::vector<LaneRow> lanes_of_queue;
  std::vector<Pause> pauses;
  std::vector<Drain> drains;
  bool stops = false;
  bool is_shared = false;  // another submitter has asked for every job too

  // Ends a job with a verdict and a log.
  void finish(const std::string& run, const std::string& label, VerdictName name, const std::string& log = "") {
    RunRow& row = rows.at({run, label});
    row.job.state = JobState::finished;
    row.job.finished_at_ms = 1'000'000;
    Result result;
    result.verdict = name == VerdictName::passed ? Verdict(Passed{}) : ended(name, {});
    result.log = log;
    result.samples = {.submission_ns = {10, 12}, .reference_ns = {20}};
    row.result = std::move(result);
  }

  Expected<std::vector<SubmittedJob>> submit(const Submitter& submitter, const std::string& run,
                                             std::span<const producer::PackedJob> jobs) override {
    if (failure_of_all) return failure(*failure_of_all);
    submitters.push_back(submitter.name);
    std::vector<SubmittedJob> submitted;
    for (const producer::PackedJob& job : jobs) {
      const std::string& label = job.submission.label;
      const auto [place, is_new] = rows.try_emplace({run, label});
      if (is_new) {
        place->second.run = run;
        place->second.entry = {.seq = rows.size(), .submission = job.submission};
        place->second.job.seq = rows.size();
        place->second.job.submitted_at_ms = 1'000;
      }
      const JobAck ack{.acceptance = is_new ? Acceptance::accepted : Acceptance::reused,
                       .seq = place->second.entry.seq,
                       .state = place->second.job.state,
                       .reason = ""};
      submitted.push_back({.id = {.seq = ack.seq, .run = run, .label = label}, .ack = answer.value_or(ack)});
    }
    return submitted;
  }
  Expected<RunRow> find(const Submitter&, const JobId& id, bool) override {
    if (failure_of_all) return failure(*failure_of_all);
    const auto row = rows.find({id.run, id.label});
    if (row == rows.end() || row->second.entry.seq != id.seq)
      return failure(Error{ErrorKind::not_found, "there is no job " + id.text()});
    return row->second;
  }
  Expected<RunRow> wait(const Submitter& submitter, const JobId& id, std::int64_t, bool,
                        const std::function<bool()>&) override {
    return find(submitter, id, false);
  }
  // Each call finishes the first unfinished job.
  Expected<std::vector<JobStatus>> wait_any(std::span<const Sequence> jobs, std::int64_t,
                                            const std::function<bool()>&) override {
    std::vector<JobStatus> states;
    bool is_first = true;
    for (const Sequence seq : jobs) {
      JobStatus& status = states.emplace_back(JobStatus{.seq = seq, .verdict = ""});
      if (!std::exchange(is_first, false)) continue;
      status.state = JobState::finished;
      status.verdict = "passed";
    }
    return states;
  }
  Expected<JobStatus> status(const Submitter&, const JobId& id) override {
    return JobStatus{.seq = id.seq, .state = JobState::queued, .verdict = "", .why = WaitReason::behind, .position = 3};
  }
  Expected<JobAction> cancel(const Submitter& submitter, const JobId& id) override {
    KQ_TRY_VALUE(const RunRow row, find(submitter, id, false));
    const bool is_open = row.job.state != JobState::finished;
    return JobAction{.seq = id.seq,
                     .done = is_open,
                     .state = is_open && is_shared ? JobState::queued : JobState::finished,
                     .reason = is_open && is_shared ? "it goes on"
                               : is_open            ? ""
                                                    : "it is finished"};
  }
  Expected<FileReply> file(const Submitter& submitter, const JobId& id, const Hash& hash) override {
    KQ_TRY_VALUE(const RunRow row, find(submitter, id, false));
    for (const SourceFile& one : row.entry.submission.files) {
      if (one.hash == hash) return FileReply{.name = one.name, .hash = hash, .bytes = std::string("import torch\n")};
    }
    return failure(Error{ErrorKind::not_found, "there is no such file"});
  }
  Expected<RunsReply> runs(const Submitter&, const RunsQuery&) override { return producer::runs_of(rows); }
  Expected<RunReply> run_page(const Submitter&, const RunQuery& query) override {
    if (failure_of_all) return failure(*failure_of_all);
    return producer::page_of(rows, query, page_rows);
  }
  // The key of a row is its place, counted from 1.
  Expected<BoardReply> board_page(const BoardQuery& query) override {
    const std::size_t first = query.after_key.empty() ? 0 : static_cast<std::size_t>(query.after_key.front());
    BoardReply reply;
    for (std::size_t i = first; i < std::min(board.size(), first + query.limit); ++i) {
      reply.rows.push_back(board[i]);
      reply.last_key = std::string(1, static_cast<char>(i + 1));
    }
    reply.more = first + query.limit < board.size();
    return reply;
  }
  Expected<BrokerReply> broker() override {
    if (failure_of_all) return failure(*failure_of_all);
    return BrokerReply{.version = "1",
                       .queued = 2,
                       .leased = 1,
                       .workers = {{.worker = "w", .devices = {{}}, .last_seen_ms = now_ms()}}};
  }
  Expected<StatsReply> statistics() override { return StatsReply{}; }
  Expected<VisibleJobs> visible_jobs(const Submitter&, const JobsQuery& query) override {
    VisibleJobs visible;
    for (const auto& [names, row] : rows) {
      if (row.job.state != query.state || row.job.seq <= query.after_seq) continue;
      JobRow one{.job = row.job, .label = names.second, .author = "", .worker = "w"};
      one.job.run = names.first;
      visible.reply.jobs.push_back(std::move(one));
    }
    return visible;
  }
  Expected<QueueReply> lanes(const QueueQuery&) override { return QueueReply{.lanes = lanes_of_queue}; }
  Expected<JobAction> retry(Sequence seq) override {
    const bool is_known = seq <= rows.size();
    return JobAction{.seq = seq, .done = is_known, .state = JobState::queued, .reason = is_known ? "" : "no such job"};
  }
  Expected<void> pause(const Pause& request) override {
    if (failure_of_all) return failure(*failure_of_all);
    pauses.push_back(request);
    return {};
  }
  Expected<void> drain(const Drain& request) override {
    drains.push_back(request);
    return {};
  }
  bool is_stopping() const override { return stops; }
  std::int64_t now_ms() const override { return 1'800'000'000'000; }
  std::string random_name() const override { return "0123456789abcdef"; }
};

inline constexpr std::string_view kTestProblem =
    "import torch\nclass Model(torch.nn.Module):\n    pass\ndef get_inputs():\n    return []\n";
inline constexpr std::string_view kTestKernel = "import torch\nclass ModelNew(torch.nn.Module):\n    pass\n";

// A line of a body, for a submission with this label.
inline std::string test_line(const std::string& label) {
  return R"({"id": ")" + label + R"(", "problem": "p", "problem_source": )" + producer::json_quoted(kTestProblem) +
         R"(, "source": )" + producer::json_quoted(kTestKernel) + "}\n";
}

inline Request test_request(const std::string& method, const std::string& path, const std::string& body = "") {
  Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  return request;
}

// Asks to submit the jobs a, b and c to the run r.
inline Request test_three_jobs() {
  Request request = test_request("POST", "/api/v1/jobs", test_line("a") + test_line("b") + test_line("c"));
  request.query.emplace("run", "r");
  return request;
}

}  // namespace kq::gateway
