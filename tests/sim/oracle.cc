#include "tests/sim/oracle.h"

#include <algorithm>
#include <utility>

#include "broker/broker.h"
#include "broker/invariants.h"
#include "core/codec/codec.h"
#include "core/leaderboard.h"
#include "store/keys.h"
#include "store/reader.h"
#include "store/verify.h"
#include "tests/sim/index.h"
#include "tests/sim/workload.h"

namespace kq::sim {
namespace {

constexpr std::uint64_t kCompareEveryTurns = 64;  // all jobs; those that a turn wrote are compared at once

std::string text_of(Sequence seq) {
  return "job " + std::to_string(seq);
}

std::string text_of(const JobRecord& job) {
  return text_of(job.seq) + " " + std::string(to_string(job.state)) + " attempt " + std::to_string(job.attempt);
}

bool waits(const JobRecord& job) {
  return job.state == JobState::queued && job.not_before_ms != 0;
}

// The result that is written with the record at the head of `writes`.
std::optional<Result> result_of(Sequence seq, std::span<const store::Write> writes) {
  const std::string key = store::sequence_key(seq);
  for (const store::Write& write : writes) {
    if (write.family == store::Family::result && write.key == key && write.value) return *decode<Result>(*write.value);
  }
  return std::nullopt;
}

}  // namespace

void Oracle::violated(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

const JobRecord* Oracle::job(Sequence seq) const {
  const auto place = jobs_.find(seq);
  return place == jobs_.end() ? nullptr : &place->second;
}

void Oracle::watch(const broker::BrokerOptions& options, const Clock& clock) {
  options_ = options;
  clock_ = &clock;
}

void Oracle::hearing(const net::Packet& packet) {
  asked_.hear(packet);
  switches_.hear(packet);
  if (packet.peer.side == net::Side::client) return;
  auto message = decode_message<WorkerRequest>(packet.bytes);
  if (auto* hello = message ? std::get_if<Hello>(&message->body) : nullptr) workers_[packet.peer] = std::move(*hello);
}

// ---- what goes to the disk -----------------------------------------------------------------------------------------

void Oracle::committing(std::span<const store::Write> writes, const store::Store& disk) {
  check_removals(writes, disk);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const store::Write& write = writes[i];
    if (!write.value) {
      if (write.family == store::Family::dead && asked_.purges(*store::sequence_from(write.key)))
        dead_.erase(*store::sequence_from(write.key));
    } else if (write.family == store::Family::state) {
      check_job(*decode<JobRecord>(*write.value), writes.subspan(i + 1), disk);
    } else if (write.family == store::Family::object) {
      const auto object = decode<BuildObject>(*write.value);
      if (sha256(object->bytes) != object->hash) violated("an object was kept that is not what its hash says");
      if (is_disk_full_) violated("an object was kept, and the disk is nearly full");
    } else if (write.family == store::Family::ids) {
      const auto known = keys_.find(*hash_from_bytes(write.key));
      if (known == keys_.end() || known->second != store::sequence_from(*write.value))
        violated("a key leads to another job");
    }
  }
  for (const store::Write& write : writes) {
    if (write.family == store::Family::run && write.value) named_[write.key] = decode<RunEntry>(*write.value)->seq;
    if (write.family == store::Family::board && write.value)
      check_board_write(write.key, *decode<LeaderboardRow>(*write.value));
  }
}

// Retention removes whole jobs that ended long ago, and files that no job names. Nothing else is ever removed.
void Oracle::check_removals(std::span<const store::Write> writes, const store::Store& disk) {
  std::set<Sequence> gone;
  for (const store::Write& write : writes) {
    if (write.family != store::Family::state || write.value) continue;
    const Sequence seq = store::sequence_from(write.key).value_or(0);
    const auto place = jobs_.find(seq);
    if (place == jobs_.end()) {
      violated(text_of(seq) + " was removed and is not there");
      continue;
    }
    check_removed_job(place->second, disk);
    gone.insert(seq);
  }
  for (const store::Write& write : writes) {
    if (write.value || !is_for_ever(write.family) || write.family == store::Family::state) continue;
    if (write.family == store::Family::blob) {
      ++removed_files_n_;
      check_removed_file(*hash_from_bytes(std::string_view(write.key).substr(0, sizeof(Hash::bytes))), writes, disk);
    } else {
      check_removed_key(write, gone, disk);
    }
  }
  for (const Sequence seq : gone) {
    keys_.erase(jobs_.at(seq).key);
    jobs_.erase(seq);
    verdicts_.erase(seq);
    dead_.erase(seq);
    removed_.insert(seq);
  }
}

void Oracle::check_removed_job(const JobRecord& job, const store::Store& disk) {
  if (job.state != JobState::finished) violated(text_of(job) + " was removed");
  std::int64_t asked_ms = job.finished_at_ms;
  (void)disk.scan(store::Family::reuse, store::sequence_key(job.seq), store::sequence_key(job.seq + 1),
                  [&](auto, std::string_view value) {
                    asked_ms = std::max(asked_ms, store::reused_at_ms_from(value).value_or(0));
                    return true;
                  });
  const std::int64_t age_ms = clock_->now_ms() - asked_ms;
  const bool old = options_.keep_ms != 0 && age_ms >= options_.keep_ms;
  const bool too_many =
      options_.keep_jobs != 0 && job.seq + options_.keep_jobs <= newest_ && age_ms >= options_.keep_ms_min;
  if (!old && !too_many) violated(text_of(job) + " was removed " + std::to_string(age_ms) + " ms after its end");
  for (const auto& [key, row] : best_) {
    if (row.seq == job.seq) violated(text_of(job) + " was removed and holds a board");
  }
}

void Oracle::check_removed_key(const store::Write& write, const std::set<Sequence>& gone, const store::Store& disk) {
  Sequence seq = 0;
  const auto bytes = disk.get(write.family, write.key);
  if (write.family == store::Family::ids) {
    seq = bytes && *bytes ? store::sequence_from(**bytes).value_or(0) : 0;
  } else if (write.family == store::Family::run) {
    seq = bytes && *bytes ? decode<RunEntry>(**bytes)->seq : 0;
  } else if (write.family == store::Family::reuse) {
    seq = store::reuse_place_from(write.key)->seq;
  } else if (write.family != store::Family::board) {
    seq = store::sequence_from(write.key).value_or(0);
  }
  if (!gone.contains(seq))
    violated("a record was removed from family " + std::string(to_string(write.family)) + " and its job was not");
}

void Oracle::check_removed_file(const Hash& hash, std::span<const store::Write> writes, const store::Store& disk) {
  const auto names = [&](const Submission& submission) {
    return submission.problem.hash == hash || std::any_of(submission.files.begin(), submission.files.end(),
                                                          [&](const SourceFile& file) { return file.hash == hash; });
  };
  const auto is_put = [&](const store::Write& write) {
    return write.family == store::Family::blob && write.value &&
           std::string_view(write.key).starts_with(as_bytes(hash));
  };
  if (std::any_of(writes.begin(), writes.end(), is_put)) return;  // with the job that needs it
  for (const auto& [seq, job] : jobs_) {
    const auto body = store::read_body(disk, seq);
    if (body && *body && names(**body)) violated("a file was removed that " + text_of(seq) + " names");
  }
  for (const store::Write& write : writes) {
    if (write.family == store::Family::body && write.value && names(*decode<Submission>(*write.value))) {
      violated("a file was removed in the turn in which a job came that names it");
    }
  }
}

void Oracle::check_job(const JobRecord& next, std::span<const store::Write> later, const store::Store& disk) {
  const auto [owner, is_new_key] = keys_.emplace(next.key, next.seq);
  if (owner->second != next.seq) violated(text_of(next.seq) + " and " + text_of(owner->second) + " have the same key");
  const auto place = jobs_.find(next.seq);
  auto& turn = turn_[next.seq];
  if (place == jobs_.end()) {
    if (next.state != JobState::queued || next.attempt != 0) violated(text_of(next) + " is how it began");
    if (next.seq <= newest_) violated(text_of(next) + " has the number of another");
    newest_ = std::max(newest_, next.seq);
    check_wanted(next, false);
  } else {
    const JobRecord& before = place->second;
    if (turn.empty()) turn.push_back(before);
    if (next.key != before.key) violated(text_of(next.seq) + " has another key now");
    check_change(before, next, later, disk);
  }
  turn.push_back(next);
  jobs_[next.seq] = next;
}

void Oracle::check_change(const JobRecord& before, const JobRecord& next, std::span<const store::Write> later,
                          const store::Store& disk) {
  const bool begins = before.state == JobState::queued && next.state == JobState::leased;
  if (next.attempt != before.attempt + (begins ? 1 : 0)) violated(text_of(before) + " became " + text_of(next));
  if (begins) return check_begin(before, next);
  if (next.state == JobState::finished && before.state != JobState::finished)
    return check_end(before, next, later, disk);
  if (before.state == JobState::finished) return check_revival(next, before);
  if (next.state != JobState::queued) return violated(text_of(before) + " became " + text_of(next));
  const bool is_due = waits(before) && !waits(next) && clock_->now_ms() >= before.not_before_ms;
  if (before.state == JobState::queued && !is_due && !is_brought_on(before, next)) {
    violated(text_of(next) + " was written again, and its time has not come, nor did anybody wish for it");
  }
}

// Somebody submitted the same in this turn, and each of its wishes is as it was, or somebody's that is better.
bool Oracle::is_brought_on(const JobRecord& before, const JobRecord& next) const {
  JobRecord as_before = next;
  as_before.priority = before.priority;
  as_before.not_before_ms = before.not_before_ms;
  as_before.deadline_ms = before.deadline_ms;
  if (as_before != before || next.priority < before.priority) return false;
  const auto is_somebodys = [&](const auto& wishes) {
    return std::ranges::any_of(asked_.submissions(next.key),
                               [&](const Wanted& wanted) { return wishes(wanted.submission); });
  };
  const bool priority = next.priority == before.priority ||
                        is_somebodys([&](const Submission& one) { return one.priority == next.priority; });
  const bool time =
      next.not_before_ms == before.not_before_ms ||
      (before.failures == 0 && next.not_before_ms < before.not_before_ms && is_somebodys([&](const Submission& one) {
         return one.not_before_ms == next.not_before_ms ||
                (next.not_before_ms == 0 && one.not_before_ms <= clock_->now_ms());
       }));
  const bool deadline = next.deadline_ms == before.deadline_ms ||
                        (before.deadline_ms != 0 && (next.deadline_ms == 0 || next.deadline_ms > before.deadline_ms) &&
                         is_somebodys([&](const Submission& one) { return one.deadline_ms == next.deadline_ms; }));
  return priority && time && deadline;
}

void Oracle::check_begin(const JobRecord& before, const JobRecord& next) {
  if (waits(before)) violated(text_of(next) + " and its time has not come");
  if (begun_.insert(next.seq).second && next.deadline_ms != 0 && next.leased_at_ms > next.deadline_ms) {
    violated(text_of(next) + " for the first time, after its deadline");
  }
}

void Oracle::check_end(const JobRecord& before, const JobRecord& next, std::span<const store::Write> later,
                       const store::Store& disk) {
  const auto result = result_of(next.seq, later);
  if (!result) return violated(text_of(next) + " without a result");
  const VerdictName verdict = name_of(result->verdict);
  verdicts_[next.seq] = verdict;
  const std::string ending = text_of(next) + " as " + std::string(to_string(verdict));
  switch (verdict) {
    case VerdictName::cancelled:
      if (!asked_.cancels(before)) violated(ending + ", and nobody asked for it");
      return;
    case VerdictName::expired:
      if (before.state != JobState::queued || next.deadline_ms == 0 || clock_->now_ms() < next.deadline_ms)
        violated(ending);
      return;
    case VerdictName::abandoned:
      dead_.insert(next.seq);
      if (next.failures < options_.attempts_max)
        violated(ending + " after " + std::to_string(next.failures) + " failures");
      return;
    default:
      break;
  }
  const LeaseId lease{next.seq, next.attempt};
  if (before.state != JobState::leased || tag_in(*result) != tag_of(lease)) {
    violated(text_of(before) + " took the result of attempt " + tag_in(*result));
  }
  if (!asked_.reports(lease)) violated(ending + ", and no worker said so");
  enter_board(next, *result, disk);
}

void Oracle::check_revival(const JobRecord& next, const JobRecord& before) {
  if (next.state != JobState::queued || row_of(verdicts_.at(next.seq)).terminal) {
    violated(text_of(before) + " became " + text_of(next));
  }
  if (!asked_.retries(next.seq)) check_wanted(next, true);
  dead_.erase(next.seq);
  begun_.erase(next.seq);
}

// Somebody submitted just this in this turn, and had room for it.
void Oracle::check_wanted(const JobRecord& record, bool is_revived) {
  const auto matches = [&](const Wanted& wanted) {
    const Submission& submission = wanted.submission;
    return record.submitter == wanted.submitter && record.run == wanted.run && record.priority == submission.priority &&
           record.problem == submission.problem.hash && record.deadline_ms == submission.deadline_ms &&
           (record.not_before_ms == submission.not_before_ms ||
            (record.not_before_ms == 0 && submission.not_before_ms <= clock_->now_ms())) &&
           (is_revived || record.needs == requirements_of(submission));
  };
  const auto& wanted = asked_.submissions(record.key);
  if (is_disk_full_) violated(text_of(record) + " was taken in, and the disk is nearly full");
  if (std::none_of(wanted.begin(), wanted.end(), matches)) violated(text_of(record) + " is not what anybody submitted");
  std::uint64_t unfinished_n = 1;
  std::uint64_t own_n = 1;
  for (const auto& [seq, job] : jobs_) {
    if (job.state == JobState::finished) continue;
    ++unfinished_n;
    if (job.submitter == record.submitter) ++own_n;
  }
  if (unfinished_n > options_.unfinished_jobs_max) violated(text_of(record) + " is one more than the queue may hold");
  if (own_n > options_.submitter_jobs_max) violated(text_of(record) + " is one more than its submitter may have");
}

void Oracle::enter_board(const JobRecord& record, const Result& result, const store::Store& disk) {
  const Measurement* measurement = measurement_of(result.verdict);
  if (name_of(result.verdict) != VerdictName::passed || measurement->submission.sample_count == 0) return;
  const auto body = store::read_body(disk, record.seq);
  if (!body || !*body) return violated(text_of(record.seq) + " passed and has no body");
  LeaderboardRow row;
  row.seq = record.seq;
  row.median_ns = measurement->submission.median_ns;
  const auto [place, is_new] =
      best_.try_emplace(store::board_key(board_hash((*body)->problem), result.device.model), row);
  if (!is_new && is_better(row, place->second)) place->second = row;
}

void Oracle::check_board_write(const std::string& key, const LeaderboardRow& row) {
  const auto place = best_.find(key);
  if (place == best_.end()) return violated("a board row without a result");
  if (row.median_ns < place->second.median_ns) violated("a board row that is better than every result");
}

// ---- what leaves the broker ----------------------------------------------------------------------------------------

void Oracle::sending(const net::Peer& peer, std::string_view bytes, const store::Store& disk) {
  if (peer.side == net::Side::client) {
    const auto reply = decode_message<ClientReply>(bytes);
    if (!reply) return violated("a reply that nobody can read: " + reply.error().message);
    if (std::holds_alternative<Done>(reply->body)) switches_.acknowledge(peer, reply->request_id);
    return check_reply(reply->body, disk);
  }
  const auto reply = decode_message<WorkerReply>(bytes);
  if (!reply) return violated("a reply that nobody can read: " + reply.error().message);
  if (const auto* batch = std::get_if<LeaseBatch>(&reply->body)) {
    for (const Lease& lease : batch->leases) check_lease(peer, lease, disk);
  }
  if (const auto* batch = std::get_if<BuildBatch>(&reply->body)) {
    for (const Lease& build : batch->builds) check_build(peer, build);
  }
  if (const auto* ack = std::get_if<ResultAck>(&reply->body)) {
    for (const LeaseId& lease : ack->leases) {
      const JobRecord* record = job(lease.seq);
      if (record != nullptr && record->state == JobState::leased && record->attempt == lease.attempt) {
        violated("the result of lease " + tag_of(lease) + " was acknowledged and has no effect");
      }
    }
  }
}

void Oracle::check_reply(const ClientReply& reply, const store::Store& disk) {
  if (const auto* ack = std::get_if<SubmitAck>(&reply)) {
    for (const JobAck& one : ack->jobs) {
      if (one.acceptance == Acceptance::refused || one.acceptance == Acceptance::busy) continue;
      const auto record = store::read_job(disk, one.seq);
      if (!record || !*record) violated(text_of(one.seq) + " was acknowledged and is not on disk");
      check_said(one.seq, one.state, "an acknowledgement");
    }
  } else if (const auto* status = std::get_if<StatusReply>(&reply)) {
    for (const JobStatus& one : status->jobs) check_said(one.seq, one.state, "a status");
  } else if (const auto* actions = std::get_if<ActionReply>(&reply)) {
    for (const JobAction& one : actions->jobs) {
      if (one.done) check_said(one.seq, one.state, "an action");
    }
  } else if (const auto* jobs = std::get_if<JobsReply>(&reply)) {
    for (const JobRow& row : jobs->jobs) check_said(row.job.seq, row.job.state, "a row of jobs");
  }
}

// In the turn under way the job was like that at some time, and it is on disk.
void Oracle::check_said(Sequence seq, JobState state, const char* where) {
  const JobRecord* record = job(seq);
  if (record == nullptr && is_removed(seq) && state == JobState::finished) return;
  if (record == nullptr) return violated(std::string(where) + " names " + text_of(seq) + ", which is not on disk");
  if (record->state == state) return;
  const auto turn = turn_.find(seq);
  const bool was = turn != turn_.end() && std::any_of(turn->second.begin(), turn->second.end(),
                                                      [&](const JobRecord& one) { return one.state == state; });
  if (!was) violated(std::string(where) + " says " + std::string(to_string(state)) + " of " + text_of(*record));
}

void Oracle::check_lease(const net::Peer& peer, const Lease& lease, const store::Store& disk) {
  const std::string name = "lease " + tag_of(lease.id);
  const auto record = store::read_job(disk, lease.id.seq);
  // Its number fences for ever. The job itself may be elsewhere by now: what came in the same turn, a goodbye or a
  // cancellation, was committed with the lease.
  if (!record || !*record || (*record)->attempt < lease.id.attempt) {
    return violated(name + " left the broker and is not on disk");
  }
  if (!granted_.insert(lease.id).second) violated(name + " was granted twice");
  if (submission_key(lease.submission) != (*record)->key) violated(name + " is of another submission");
  const auto worker = workers_.find(peer);
  if (worker == workers_.end()) return violated(name + " went to a worker that never said Hello");
  const Hello& hello = worker->second;
  const Requirements& needs = (*record)->needs;
  if (std::find(hello.devices.begin(), hello.devices.end(), lease.device) == hello.devices.end() ||
      !serves(lease.device, needs)) {
    violated(name + " is for a device that " + hello.worker + " does not have, or that does not serve");
  }
  if (!std::includes(hello.labels.begin(), hello.labels.end(), needs.labels.begin(), needs.labels.end())) {
    violated(name + " went to " + hello.worker + ", which lacks its labels");
  }
  // What was built of another submission, or for another device, is never served.
  if (lease.object) ++objects_n_;
  if (lease.object && *lease.object != object_of(lease.submission, lease.device))
    violated(name + " came with an object that is not its own");
  if (switches_.is_on(std::string(store::kDrainingPrefix) + hello.worker))
    violated(name + " went to a worker that drains");
  if (switches_.is_on(std::string(store::kPausedPrefix)) ||
      switches_.is_on(std::string(store::kPausedPrefix) + (*record)->submitter)) {
    violated(name + " was granted while its submitter is paused");
  }
  check_rank(hello, **record, disk);
}

// It waits, and may be built there.
void Oracle::check_build(const net::Peer& peer, const Lease& build) {
  const std::string name = "the build of " + text_of(build.id.seq);
  const JobRecord* record = job(build.id.seq);
  if (build.id.attempt != 0) violated(name + " has an attempt");
  if (record == nullptr || record->state != JobState::queued || waits(*record))
    return violated(name + " left the broker, and it does not wait to be leased");
  if (submission_key(build.submission) != record->key) violated(name + " is of another submission");
  const auto worker = workers_.find(peer);
  if (worker == workers_.end()) return violated(name + " went to a worker that never said Hello");
  const Hello& hello = worker->second;
  if (std::find(hello.builds_for.begin(), hello.builds_for.end(), build.device) == hello.builds_for.end())
    violated(name + " is for what " + hello.worker + " does not build for");
  if (!std::includes(hello.labels.begin(), hello.labels.end(), record->needs.labels.begin(),
                     record->needs.labels.end())) {
    violated(name + " went to " + hello.worker + ", which lacks its labels");
  }
  if (switches_.is_on(std::string(store::kDrainingPrefix) + hello.worker))
    violated(name + " went to a worker that drains");
  if (is_disk_full_) violated(name + " left the broker, and the disk has no room for what comes of it");
}

// No job of a higher priority that this worker could run was passed over.
void Oracle::check_rank(const Hello& hello, const JobRecord& leased, const store::Store& disk) {
  if (options_.lane_window.jobs_max < jobs_.size()) return;  // it may not have been in RAM yet
  const auto runs = [&](const Requirements& needs) {
    const auto on = [&](const DeviceInfo& device) {  // what runs anywhere may wait for a GPU
      return serves(device, needs) && (device.kind == DeviceKind::cuda || needs.wish == DeviceWish::cpu);
    };
    const auto& backends = hello.backends;
    return std::any_of(hello.devices.begin(), hello.devices.end(), on) &&
           (backends.empty() || std::find(backends.begin(), backends.end(), needs.backend) != backends.end()) &&
           std::includes(hello.labels.begin(), hello.labels.end(), needs.labels.begin(), needs.labels.end());
  };
  for (const auto& [seq, job] : jobs_) {
    if (turn_.contains(seq)) continue;  // queued by what came in this very turn, after its leases
    if (job.state != JobState::queued || waits(job) || job.priority <= leased.priority || !runs(job.needs)) continue;
    const std::int64_t head_start_ms =
        broker::Scheduler::kHeadStartMs * (static_cast<int>(job.priority) - static_cast<int>(leased.priority));
    if (job.submitted_at_ms - head_start_ms > leased.submitted_at_ms) continue;
    const auto paused = disk.get(store::Family::meta, std::string(store::kPausedPrefix) + job.submitter);
    if (paused && !*paused) violated(text_of(leased) + " went before " + text_of(job) + ", which ranks higher");
  }
}

// ---- between the turns ---------------------------------------------------------------------------------------------

void Oracle::turned(const broker::Broker& broker) {
  if (const auto broken = broker::broken_invariant(broker.state())) violated("invariant: " + *broken);
  if (++turns_n_ % kCompareEveryTurns == 0) compare(broker);
  for (const auto& [seq, records] : turn_) {
    const broker::Job* ram = broker.state().queue.jobs().find(seq);
    if (ram == nullptr) continue;
    if (is_removed(seq)) violated(text_of(seq) + " is in RAM and was removed");
    if (jobs_.contains(seq) && ram->record != jobs_.at(seq)) {
      violated(text_of(ram->record) + " in RAM is " + text_of(jobs_.at(seq)) + " on disk");
    }
  }
  turn_.clear();
  asked_.forget();
}

void Oracle::compare(const broker::Broker& broker) {
  std::uint64_t queued_n = 0;
  std::uint64_t waiting_n = 0;
  for (const auto& [seq, record] : jobs_) {
    const broker::Job* ram = broker.state().queue.jobs().find(seq);
    if (ram == nullptr && record.state == JobState::leased) violated(text_of(record) + " is forgotten");
    if (ram != nullptr && ram->record != record) {
      violated(text_of(ram->record) + " in RAM is " + text_of(record) + " on disk");
    }
    if (record.state == JobState::queued) ++(waits(record) ? waiting_n : queued_n);
  }
  if (broker.state().queue.scheduler().size() != queued_n ||
      broker.state().queue.timers().waiting_count() != waiting_n) {
    violated("of " + std::to_string(queued_n) + " queued jobs and " + std::to_string(waiting_n) +
             " that wait the broker knows " + std::to_string(broker.state().queue.scheduler().size()) + " and " +
             std::to_string(broker.state().queue.timers().waiting_count()));
  }
}

void Oracle::restarted(const broker::Broker& broker, const store::Store& disk) {
  std::map<Sequence, JobRecord> found;
  (void)disk.scan(store::Family::state, "", "", [&](std::string_view, std::string_view value) {
    const auto record = decode<JobRecord>(value);
    found[record->seq] = *record;
    return true;
  });
  if (found != jobs_) violated("the disk has other jobs than were committed");
  jobs_ = std::move(found);
  for (const auto& [key, seq] : promises_) {
    const auto known = store::find_key(disk, key);
    if (is_removed(seq)) continue;
    if (!known || *known != seq || !jobs_.contains(seq)) violated(text_of(seq) + " was acknowledged and is lost");
  }
  for (const auto& [key, on] : switches_.certain()) {
    const auto value = disk.get(store::Family::meta, key);
    if (value && value->has_value() != on) violated("the switch " + key + " was acknowledged and is lost");
  }
  is_disk_full_ = false;  // it has not looked yet
  turn_.clear();
  asked_.forget();
  check_indexes(disk);
  compare(broker);
}

void Oracle::check_indexes(const store::Store& disk) {
  if (const auto wrong = complaint_about_indexes(jobs_, disk, [&](Sequence seq) { return dead_.contains(seq); })) {
    violated(*wrong);
  }
}

void Oracle::promised(const std::string& run, const Submission& submission, Sequence seq) {
  const auto [place, is_new] = promises_.emplace(submission_key(submission), seq);
  if (is_removed(seq)) return;  // what was said is late
  if (is_removed(place->second)) place->second = seq;
  if (place->second != seq)
    violated("the same work was acknowledged as " + text_of(place->second) + " and as " + text_of(seq));
  entries_[store::run_key(run, submission.label)] = {seq, submission};
}

void Oracle::shown(const RunRow& row) {
  const JobRecord* record = job(row.entry.seq);
  if (is_removed(row.entry.seq)) return;
  if (record == nullptr) return violated("a row of " + text_of(row.entry.seq) + ", which never was");
  if (row.job.key != submission_key(row.entry.submission)) violated("a row of " + text_of(row.job) + " for other work");
  if (row.result.has_value() != (row.job.state == JobState::finished))
    violated(text_of(row.job) + " in a row without its result");
}

bool Oracle::all_finished() const {
  for (const auto& [seq, record] : jobs_) {
    if (record.state != JobState::finished) return false;
  }
  return true;
}

std::string Oracle::unfinished_text() const {
  std::string text;
  for (const auto& [seq, record] : jobs_) {
    if (record.state != JobState::finished) text += (text.empty() ? "" : ", ") + text_of(record);
  }
  return text;
}

void Oracle::ended(const store::Store& disk) {
  for (const auto& [key, entry] : entries_) {
    const auto bytes = disk.get(store::Family::run, key);
    // A request that is repeated late may have given the label to another job, which was removed with it.
    const auto named = named_.find(key);
    if (is_removed(entry.seq) || (named != named_.end() && is_removed(named->second))) continue;
    if (!bytes || !*bytes) violated("the entry of label " + entry.submission.label + " is lost");
  }
  for (const auto& [seq, record] : jobs_) {
    const auto result = store::read_result(disk, seq, true);
    if (!result || !*result) violated(text_of(seq) + " is finished and has no result");
  }
  check_board(disk);
  check_indexes(disk);
  // And what kq-ctl verify would say of it.
  const auto verified = store::verify(disk, [&](const std::string& problem) { violated("verify: " + problem); });
  if (!verified) violated("verify: " + verified.error().message);
}

// The board, folded again from the results.
void Oracle::check_board(const store::Store& disk) {
  std::size_t rows_n = 0;
  (void)disk.scan(store::Family::board, "", "", [&](std::string_view key, std::string_view value) {
    const auto row = decode<LeaderboardRow>(value);
    const auto place = best_.find(std::string(key));
    ++rows_n;
    if (place == best_.end() || place->second.seq != row->seq || place->second.median_ns != row->median_ns) {
      violated("the board says " + text_of(row->seq) + " for " + row->problem + ", and the results do not");
    }
    return true;
  });
  if (rows_n != best_.size())
    violated("the board has " + std::to_string(rows_n) + " rows, and the results " + std::to_string(best_.size()));
}

}  // namespace kq::sim
