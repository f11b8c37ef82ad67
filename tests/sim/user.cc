#include "tests/sim/user.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kq::sim {
namespace {

constexpr std::int64_t kPauseMsMax = 5'000;
constexpr std::int64_t kCalmPauseMs = 200;
constexpr std::int64_t kPatienceMsMax = 5'000;
constexpr std::int64_t kSettleMs = 1'000;
constexpr std::int64_t kCalmPatienceMs = 10'000;
constexpr std::array<const char*, 3> kSubmitters{"", "c1", "c2"};  // "" stands for all submitters
constexpr std::array<const char*, 3> kWorkers{"w1", "w2", "w3"};

}  // namespace

User::User(Context& context, Network& network, Oracle& oracle, std::string name, std::vector<producer::Prepared> orders,
           bool is_admin)
    : context_(context),
      oracle_(oracle),
      is_admin_(is_admin),
      orders_(std::make_move_iterator(orders.begin()), std::make_move_iterator(orders.end())),
      host_(context, network, std::move(name), [this](producer::Client& client) { work(client); }) {}

void User::finish() {
  is_calm_ = true;
  settled_at_ms_ = context_.timeline.now_ms() + Network::kLateMsMax + kSettleMs;
}

void User::work(producer::Client& client) {
  while (!host_.is_killed()) {
    host_.sleep(is_calm_ ? kCalmPauseMs : context_.random.between(0, kPauseMsMax));
    if (!is_calm_) {
      do_something(client);
    } else if (is_admin_ && !undo_pauses_and_drains(client)) {
      continue;
    } else if (!orders_.empty()) {
      submit_one(client);
    } else if (!unfinished_.empty()) {
      wait(client, kCalmPatienceMs);
    } else if (is_admin_ && context_.timeline.now_ms() < settled_at_ms_) {
      continue;  // a pause that was sent earlier may still arrive
    } else {
      return read_run(client);
    }
  }
}

void User::do_something(producer::Client& client) {
  switch (context_.random.below(12)) {
    case 0:
      return submit_again(client);
    case 1:
      return query_status(client);
    case 2:
      return wait(client, context_.random.between(1, kPatienceMsMax));
    case 3:
      return read_run(client);
    case 4:
      return query(client);
    case 5:
      return cancel(client);
    case 6:
    case 7:
      return is_admin_ ? administer(client) : submit_one(client);
    default:
      return submit_one(client);
  }
}

void User::submit_one(producer::Client& client) {
  if (orders_.empty() || !submit(client, orders_.front())) return;
  acknowledged_.push_back(std::move(orders_.front()));
  orders_.pop_front();
}

void User::submit_again(producer::Client& client) {
  if (!acknowledged_.empty()) submit(client, acknowledged_[context_.random.below(acknowledged_.size())]);
}

// Returns whether every job of the order was acknowledged.
bool User::submit(producer::Client& client, const producer::Prepared& order) {
  producer::SubmitOptions options;
  options.timeout_ms = kPatienceMsMax;
  const producer::SubmitSummary summary = kq::producer::submit(client, order, options);
  for (const producer::SubmittedJob& job : summary.jobs) {
    const auto packed = std::find_if(order.jobs.begin(), order.jobs.end(),
                                     [&](const producer::PackedJob& one) { return one.submission.label == job.label; });
    if (job.ack.acceptance == Acceptance::refused) {
      oracle_.violated("a valid job was refused: " + job.ack.reason);
    } else {
      oracle_.promised(order.run, packed->submission, job.ack.seq);
      jobs_[job.ack.seq] = {job.ack.seq, job.needs};
      unfinished_.insert(job.ack.seq);  // the job may have been queued again
    }
  }
  return !summary.stopped;
}

void User::query_status(producer::Client& client) {
  StatusQuery query;
  for (const auto& [seq, job] : jobs_) query.seqs.push_back(seq);
  const auto reply = client.ask_for<StatusReply>(query);
  if (!reply) return;
  auto status = reply->jobs.begin();
  bool all_known = true;
  for (const Sequence seq : query.seqs) {
    if (status != reply->jobs.end() && status->seq == seq) {
      ++status;
    } else {
      all_known = all_known && oracle_.is_removed(seq);
    }
  }
  if (!all_known || status != reply->jobs.end())
    oracle_.violated("a status reply lacks an acknowledged job or has another one");
}

void User::wait(producer::Client& client, std::int64_t patience_ms) {
  std::erase_if(unfinished_, [&](Sequence seq) { return oracle_.is_removed(seq); });
  producer::WaitList jobs;
  for (const Sequence seq : unfinished_) jobs.add(jobs_.at(seq));
  producer::WaitOptions options;
  options.timeout_ms = patience_ms;
  options.now_ms = [this] { return host_.now_ms(); };
  options.sleep_ms = [this](std::int64_t ms) { host_.sleep(ms); };
  options.interrupted = [this] { return host_.is_killed(); };
  auto outcome = producer::wait_for(client, std::move(jobs), options);
  if (!outcome) {
    const bool no_answer = outcome.error().message.find("did not answer") != std::string::npos;
    const bool removed =
        std::any_of(unfinished_.begin(), unfinished_.end(), [&](Sequence seq) { return oracle_.is_removed(seq); });
    if (!no_answer && !removed) oracle_.violated(outcome.error().message);
    return;
  }
  for (const producer::WaitList::Job& job : outcome->jobs.jobs()) {
    if (job.standing == producer::WaitList::Standing::finished) unfinished_.erase(job.seq);
  }
}

// Reads all rows of a run, three at a time.
void User::read_run(producer::Client& client) {
  const std::uint64_t number = context_.random.below(2);
  if (acknowledged_.empty()) return;
  RunQuery query{.run = acknowledged_[number % acknowledged_.size()].run, .after_label = "", .limit = 3};
  for (bool more = true; more;) {
    const auto reply = client.ask_for<RunReply>(query);
    if (!reply) return;
    for (const RunRow& row : reply->rows) oracle_.shown(row);
    more = reply->more && !reply->rows.empty();
    if (more) query.after_label = reply->rows.back().entry.submission.label;
  }
}

std::vector<Sequence> User::some_jobs() {
  std::vector<Sequence> some;
  for (const auto& [seq, job] : jobs_) {
    if (context_.random.below(jobs_.size()) < 2) some.push_back(seq);
  }
  return some;
}

void User::check(const ActionReply& reply, const std::vector<Sequence>& asked) {
  const bool fits = std::equal(reply.jobs.begin(), reply.jobs.end(), asked.begin(), asked.end(),
                               [](const JobAction& action, Sequence seq) { return action.seq == seq; });
  if (!fits) oracle_.violated("a reply names other jobs than the request");
  for (const JobAction& action : reply.jobs) {
    if (!action.done && action.reason.empty()) oracle_.violated("an action was refused without a reason");
  }
}

void User::cancel(producer::Client& client) {
  const CancelJobs request{some_jobs()};
  if (const auto reply = client.ask_for<ActionReply>(request)) check(*reply, request.seqs);
}

// Does something that only an administrator may do.
void User::administer(producer::Client& client) {
  const bool on = context_.random.chance(0.5);
  switch (context_.random.below(4)) {
    case 0:
      return retry(client);
    case 1:
      return purge(client);
    case 2:
      (void)client.ask_for<Done>(Pause{kSubmitters[context_.random.below(kSubmitters.size())], on});
      return;
    default:
      (void)client.ask_for<Done>(Drain{kWorkers[context_.random.below(kWorkers.size())], on});
      return;
  }
}

void User::retry(producer::Client& client) {
  const RetryJobs request{some_jobs()};
  const auto reply = client.ask_for<ActionReply>(request);
  if (!reply) return;
  check(*reply, request.seqs);
  unfinished_.insert(request.seqs.begin(), request.seqs.end());
}

void User::purge(producer::Client& client) {
  const auto dead = client.ask_for<JobsReply>(DeadQuery{.after_seq = 0, .limit = 2});
  if (!dead) return;
  PurgeDead request;
  for (const JobRow& row : dead->jobs) request.seqs.push_back(row.job.seq);
  if (const auto reply = client.ask_for<ActionReply>(request)) check(*reply, request.seqs);
}

// Sends a query. The oracle checks the reply when it leaves the broker.
void User::query(producer::Client& client) {
  switch (context_.random.below(4)) {
    case 0:
      (void)client.ask_for<JobsReply>(JobsQuery{static_cast<JobState>(context_.random.below(3)), 0, 5});
      return;
    case 1:
      (void)client.ask_for<QueueReply>(QueueQuery{3});
      return;
    case 2:
      (void)client.ask_for<StatsReply>(StatsQuery{});
      return;
    default:
      (void)client.ask_for<BoardReply>(BoardQuery{"", 2});
      return;
  }
}

// Undoes all pauses and drains. Returns false if the broker did not answer.
bool User::undo_pauses_and_drains(producer::Client& client) {
  for (const char* submitter : kSubmitters) {
    if (!client.ask_for<Done>(Pause{submitter, false})) return false;
  }
  for (const char* worker : kWorkers) {
    if (!client.ask_for<Done>(Drain{worker, false})) return false;
  }
  return true;
}

std::string User::unfinished_text() const {
  std::string text;
  if (!orders_.empty()) text += "; " + machine() + " has no acknowledgement of an order";
  for (const Sequence seq : unfinished_) text += "; " + machine() + " waits for job " + std::to_string(seq);
  return text;
}

}  // namespace kq::sim
