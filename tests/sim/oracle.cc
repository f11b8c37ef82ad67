#include "tests/sim/oracle.h"

#include <utility>

#include "broker/broker.h"
#include "broker/invariants.h"
#include "core/codec.h"
#include "core/leaderboard.h"
#include "store/keys.h"
#include "store/reader.h"
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

// Whether the life of a job may go from one record on disk to the other in one write.
bool may_follow(const JobRecord& before, const JobRecord& next, std::optional<VerdictName> verdict) {
  const bool same_attempt = next.attempt == before.attempt;
  switch (before.state) {
    case JobState::queued:
      if (next.state == JobState::leased) return next.attempt == before.attempt + 1;
      return next.state == JobState::finished && same_attempt;  // given up before a lease
    case JobState::leased:
      return next.state != JobState::leased && same_attempt;
    case JobState::finished:
      return next.state == JobState::queued && same_attempt && verdict && !row_of(*verdict).settles;
  }
  return false;
}

}  // namespace

void Oracle::violated(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

const JobRecord* Oracle::job(Sequence seq) const {
  const auto place = jobs_.find(seq);
  return place == jobs_.end() ? nullptr : &place->second;
}

void Oracle::committing(std::span<const Write> writes, const Store& disk) {
  std::map<Sequence, Result> results;
  for (const Write& write : writes) {
    if (!write.value) return violated("a record was removed from family " + std::string(to_string(write.family)));
    if (write.family == Family::result)
      results.insert_or_assign(*sequence_from(write.key), *decode<Result>(*write.value));
  }
  for (const Write& write : writes) {
    if (write.family == Family::state) check_job(*decode<JobRecord>(*write.value), results, disk);
    if (write.family == Family::result) check_result(*sequence_from(write.key), *decode<Result>(*write.value), disk);
    if (write.family == Family::ids) {
      const auto known = keys_.find(*hash_from_bytes(write.key));
      if (known == keys_.end() || known->second != sequence_from(*write.value)) violated("a key leads to another job");
    }
  }
  for (const Write& write : writes) {
    if (write.family == Family::board) check_board_write(write.key, *decode<LeaderboardRow>(*write.value));
  }
}

void Oracle::check_job(const JobRecord& next, const std::map<Sequence, Result>& results, const Store& disk) {
  touched_.insert(next.seq);
  const auto [owner, is_new_key] = keys_.emplace(next.key, next.seq);
  if (owner->second != next.seq) violated(text_of(next.seq) + " and " + text_of(owner->second) + " have the same key");
  const auto before = jobs_.find(next.seq);
  if (before == jobs_.end()) {
    if (next.state != JobState::queued || next.attempt != 0) violated(text_of(next) + " is how it began");
  } else {
    if (next.key != before->second.key) violated(text_of(next.seq) + " has another key now");
    std::optional<VerdictName> verdict;
    if (const auto place = results.find(next.seq); place != results.end()) {
      verdict = name_of(place->second.verdict);
    } else if (const auto result = read_result(disk, next.seq, false); result && *result) {
      verdict = name_of((*result)->verdict);
    }
    if (!may_follow(before->second, next, verdict)) violated(text_of(before->second) + " became " + text_of(next));
    if (next.state == JobState::finished && !results.contains(next.seq)) violated(text_of(next) + " without a result");
  }
  jobs_[next.seq] = next;
}

void Oracle::check_result(Sequence seq, const Result& result, const Store& disk) {
  const JobRecord* record = job(seq);
  if (record == nullptr) return violated(text_of(seq) + " has a result and no record");
  const VerdictName verdict = name_of(result.verdict);
  if (verdict != VerdictName::abandoned && tag_in(result) != tag_of({seq, record->attempt})) {
    violated(text_of(*record) + " took the result of attempt " + tag_in(result));
  }
  const Measurement* measurement = measurement_of(result.verdict);
  if (verdict != VerdictName::passed || measurement == nullptr || measurement->submission.samples_n == 0) return;
  const auto body = read_body(disk, seq);
  if (!body || !*body) return violated(text_of(seq) + " passed and has no body");
  LeaderboardRow row;
  row.seq = seq;
  row.median_ns = measurement->submission.median_ns;
  const auto [place, is_new] = best_.try_emplace(board_key((*body)->problem.hash, result.device.model), row);
  if (!is_new && is_better(row, place->second)) place->second = row;
}

void Oracle::check_board_write(const std::string& key, const LeaderboardRow& row) {
  const auto place = best_.find(key);
  if (place == best_.end()) return violated("a board row without a result");
  if (row.median_ns < place->second.median_ns) violated("a board row that is better than every result");
}

void Oracle::sending(const Peer& peer, std::string_view bytes, const Store& disk) {
  if (peer.side == Side::client) {
    const auto reply = decode_message<ClientReply>(bytes);
    if (!reply) return violated("a reply that nobody can read: " + reply.error().message);
    const auto* ack = std::get_if<SubmitAck>(&reply->body);
    if (ack == nullptr) return;
    for (const JobAck& one : ack->jobs) {
      if (one.acceptance == Acceptance::refused) continue;
      const auto record = read_job(disk, one.seq);
      if (!record || !*record) violated(text_of(one.seq) + " was acknowledged and is not on disk");
    }
    return;
  }
  const auto reply = decode_message<WorkerReply>(bytes);
  if (!reply) return violated("a reply that nobody can read: " + reply.error().message);
  if (const auto* batch = std::get_if<LeaseBatch>(&reply->body)) {
    for (const Lease& lease : batch->leases) {
      const auto record = read_job(disk, lease.id.seq);
      if (!record || !*record || (*record)->state != JobState::leased || (*record)->attempt != lease.id.attempt) {
        violated("lease " + tag_of(lease.id) + " left the broker and is not on disk");
      }
      if (!granted_.insert(lease.id).second) violated("lease " + tag_of(lease.id) + " was granted twice");
    }
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

void Oracle::turned(const Broker& broker) {
  if (const auto broken = broken_invariant(broker.state())) violated("invariant: " + *broken);
  if (++turns_n_ % kCompareEveryTurns == 0) compare(broker);
  for (const Sequence seq : std::exchange(touched_, {})) {
    const Job* ram = broker.state().jobs.find(seq);
    if (ram != nullptr && ram->record != jobs_.at(seq))
      violated(text_of(ram->record) + " in RAM is " + text_of(jobs_.at(seq)) + " on disk");
  }
}

void Oracle::compare(const Broker& broker) {
  for (const auto& [seq, record] : jobs_) {
    const Job* ram = broker.state().jobs.find(seq);
    if (ram == nullptr && record.state != JobState::finished) violated(text_of(record) + " is forgotten");
    if (ram != nullptr && ram->record != record)
      violated(text_of(ram->record) + " in RAM is " + text_of(record) + " on disk");
  }
}

void Oracle::restarted(const Broker& broker, const Store& disk) {
  jobs_.clear();
  keys_.clear();
  (void)disk.scan(Family::state, "", "", [&](std::string_view, std::string_view value) {
    const auto record = decode<JobRecord>(value);
    jobs_[record->seq] = *record;
    if (!keys_.emplace(record->key, record->seq).second) violated("two jobs have the same key");
    return true;
  });
  for (const auto& [key, seq] : promises_) {
    const auto found = find_key(disk, key);
    if (!found || *found != seq || !jobs_.contains(seq)) violated(text_of(seq) + " was acknowledged and is lost");
  }
  touched_.clear();
  compare(broker);
}

void Oracle::promised(const std::string& run, const Submission& submission, Sequence seq) {
  const auto [place, is_new] = promises_.emplace(submission_key(submission), seq);
  if (place->second != seq)
    violated("the same work was acknowledged as " + text_of(place->second) + " and as " + text_of(seq));
  entries_[run_key(run, submission.label)] = {seq, submission};
}

void Oracle::shown(const RunRow& row) {
  const JobRecord* record = job(row.entry.seq);
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

void Oracle::ended(const Store& disk) {
  for (const auto& [key, entry] : entries_) {
    const auto bytes = disk.get(Family::run, key);
    if (!bytes || !*bytes) violated("the entry of label " + entry.submission.label + " is lost");
  }
  for (const auto& [seq, record] : jobs_) {
    const auto result = read_result(disk, seq, true);
    if (!result || !*result) violated(text_of(seq) + " is finished and has no result");
  }
  check_board(disk);
}

// The board, folded again from the results.
void Oracle::check_board(const Store& disk) {
  std::size_t rows_n = 0;
  (void)disk.scan(Family::board, "", "", [&](std::string_view key, std::string_view value) {
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
