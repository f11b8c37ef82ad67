#include "tests/sim/user.h"

#include <algorithm>
#include <utility>

namespace kq::sim {
namespace {

constexpr std::int64_t kPauseMsMax = 5'000;
constexpr std::int64_t kCalmPauseMs = 200;
constexpr std::int64_t kPatienceMsMax = 5'000;
constexpr std::int64_t kCalmPatienceMs = 600'000;

// What the broker may refuse: there is no room now.
bool is_for_now(const JobAck& ack) {
  return ack.acceptance == Acceptance::busy || ack.reason.find("retry later") != std::string::npos;
}

}  // namespace

User::User(Nature& nature, Network& network, Oracle& oracle, std::string name, std::vector<Prepared> orders)
    : nature_(nature),
      oracle_(oracle),
      orders_(std::make_move_iterator(orders.begin()), std::make_move_iterator(orders.end())),
      host_(nature, network, std::move(name), [this](Client& client) { work(client); }) {}

void User::work(Client& client) {
  while (!host_.is_killed()) {
    host_.sleep(is_calm_ ? kCalmPauseMs : nature_.random.between(0, kPauseMsMax));
    if (!is_calm_) {
      do_something(client);
    } else if (!orders_.empty()) {
      submit_one(client);
    } else if (!all_finished()) {
      wait(client, kCalmPatienceMs);
    } else {
      return read_run(client);
    }
  }
}

void User::do_something(Client& client) {
  switch (nature_.random.below(8)) {
    case 0:
      return submit_again(client);
    case 1:
      return ask(client);
    case 2:
      return wait(client, nature_.random.between(1, kPatienceMsMax));
    case 3:
      return read_run(client);
    default:
      return submit_one(client);
  }
}

void User::submit_one(Client& client) {
  if (orders_.empty() || !submit(client, orders_.front())) return;
  acknowledged_.push_back(std::move(orders_.front()));
  orders_.pop_front();
}

void User::submit_again(Client& client) {
  if (!acknowledged_.empty()) submit(client, acknowledged_[nature_.random.below(acknowledged_.size())]);
}

// Whether all of it was acknowledged.
bool User::submit(Client& client, const Prepared& order) {
  const SubmitSummary summary = kq::submit(client, order);
  bool is_whole = !summary.stopped;
  for (std::size_t i = 0; i < summary.jobs.size(); ++i) {
    const JobAck& ack = summary.jobs[i].ack;
    const Submission& submission = order.jobs[i].submission;
    if (ack.acceptance == Acceptance::accepted || ack.acceptance == Acceptance::reused) {
      oracle_.promised(order.run, submission, ack.seq);
      jobs_[ack.seq] = {ack.seq, submission.device, submission.gpu_model};
      unfinished_.insert(ack.seq);  // it may have been queued again
    } else if (is_for_now(ack)) {
      is_whole = false;
    } else {
      oracle_.violated("a job was refused: " + ack.reason);
    }
  }
  return is_whole;
}

void User::ask(Client& client) {
  StatusQuery query;
  for (const auto& [seq, job] : jobs_) query.seqs.push_back(seq);
  const auto reply = client.ask_for<StatusReply>(query);
  if (!reply) return;
  const bool all_known = std::equal(reply->jobs.begin(), reply->jobs.end(), query.seqs.begin(), query.seqs.end(),
                                    [](const JobStatus& status, Sequence seq) { return status.seq == seq; });
  if (!all_known) oracle_.violated("a status reply has not the jobs that were asked for and acknowledged");
}

void User::wait(Client& client, std::int64_t patience_ms) {
  std::vector<WaitedJob> jobs;
  for (const Sequence seq : unfinished_) jobs.push_back(jobs_.at(seq));
  WaitOptions options;
  options.timeout_ms = patience_ms;
  options.now_ms = [this] { return host_.now_ms(); };
  options.sleep_ms = [this](std::int64_t ms) { host_.sleep(ms); };
  options.interrupted = [this] { return host_.is_killed(); };
  const auto outcome = wait_for(client, jobs, options);
  if (!outcome) {
    if (outcome.error().message.find("did not answer") == std::string::npos) oracle_.violated(outcome.error().message);
    return;
  }
  for (const JobStatus& status : outcome->jobs) {
    if (status.state == JobState::finished) unfinished_.erase(status.seq);
  }
}

// Every row of a run, page by page.
void User::read_run(Client& client) {
  RunQuery query{.run = "run " + std::to_string(nature_.random.below(2)), .after_label = "", .limit = 3};
  for (bool more = true; more;) {
    const auto reply = client.ask_for<RunReply>(query);
    if (!reply) return;
    for (const RunRow& row : reply->rows) oracle_.shown(row);
    more = reply->more && !reply->rows.empty();
    if (more) query.after_label = reply->rows.back().entry.submission.label;
  }
}

bool User::all_finished() const {
  return unfinished_.empty();
}

std::string User::what_is_left() const {
  std::string text;
  if (!orders_.empty()) text += "; " + machine() + " has no answer to an order";
  for (const Sequence seq : unfinished_) text += "; " + machine() + " waits for job " + std::to_string(seq);
  return text;
}

}  // namespace kq::sim
