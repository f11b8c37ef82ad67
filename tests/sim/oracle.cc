#include "tests/sim/oracle.h"

#include <utility>

#include "broker/broker.h"
#include "broker/invariants.h"
#include "core/codec/codec.h"
#include "store/keys.h"
#include "store/reader.h"
#include "store/verify.h"
#include "tests/sim/index.h"
#include "tests/sim/job_text.h"

namespace kq::sim {
namespace {

// All jobs of the broker are compared with the disk once in so many turns. Jobs that a turn wrote are compared after
// it.
constexpr std::uint64_t kCompareEveryTurns = 64;

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
  requests_.record(packet);
  switches_.record(packet);
  if (packet.peer.side == net::Side::client) return;
  auto message = decode_message<WorkerRequest>(packet.bytes);
  if (auto* hello = message ? std::get_if<Hello>(&message->body) : nullptr) workers_[packet.peer] = std::move(*hello);
}

void Oracle::turned(const broker::Broker& broker) {
  if (const auto broken = broker::broken_invariant(broker.state())) violated("invariant: " + *broken);
  if (++turn_count_ % kCompareEveryTurns == 0) compare(broker);
  for (const auto& [seq, records] : turn_) {
    const broker::Job* ram = broker.state().queue.jobs().find(seq);
    if (ram == nullptr) continue;
    if (is_removed(seq)) violated(text_of(seq) + " was removed but is still in RAM");
    if (jobs_.contains(seq) && ram->record != jobs_.at(seq)) {
      violated(text_of(ram->record) + " in RAM is " + text_of(jobs_.at(seq)) + " on disk");
    }
  }
  turn_.clear();
  requests_.clear();
}

void Oracle::compare(const broker::Broker& broker) {
  std::uint64_t queued_count = 0;
  std::uint64_t waiting_count = 0;
  for (const auto& [seq, record] : jobs_) {
    const broker::Job* ram = broker.state().queue.jobs().find(seq);
    if (ram == nullptr && record.state == JobState::leased) violated(text_of(record) + " is on disk but not in RAM");
    if (ram != nullptr && ram->record != record) {
      violated(text_of(ram->record) + " in RAM is " + text_of(record) + " on disk");
    }
    if (record.state == JobState::queued) ++(is_delayed(record) ? waiting_count : queued_count);
  }
  if (broker.state().queue.scheduler().size() != queued_count ||
      broker.state().queue.timers().waiting_count() != waiting_count) {
    violated("of " + std::to_string(queued_count) + " queued jobs and " + std::to_string(waiting_count) +
             " delayed jobs the broker knows " + std::to_string(broker.state().queue.scheduler().size()) + " and " +
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
  if (found != jobs_) violated("the jobs on disk differ from the committed jobs");
  jobs_ = std::move(found);
  for (const auto& [key, seq] : promises_) {
    const auto known = store::find_key(disk, key);
    if (is_removed(seq)) continue;
    if (!known || *known != seq || !jobs_.contains(seq)) violated(text_of(seq) + " was acknowledged but is lost");
  }
  for (const auto& [key, on] : switches_.certain()) {
    const auto value = disk.get(store::Family::meta, key);
    if (value && value->has_value() != on) violated("the pause or drain " + key + " was acknowledged but is lost");
  }
  is_disk_full_ = false;  // a new broker process has not asked for the free space yet
  turn_.clear();
  requests_.clear();
  check_indexes(disk);
  compare(broker);
}

void Oracle::check_indexes(const store::Store& disk) {
  if (const auto wrong = validate_indexes(jobs_, disk, [&](Sequence seq) { return dead_.contains(seq); })) {
    violated(*wrong);
  }
}

void Oracle::promised(const std::string& run, const Submission& submission, Sequence seq) {
  const auto [place, is_new] = promises_.emplace(submission_key(submission), seq);
  if (is_removed(seq)) return;  // the acknowledgement arrived after the removal
  if (is_removed(place->second)) place->second = seq;
  if (place->second != seq)
    violated("the same work was acknowledged as " + text_of(place->second) + " and as " + text_of(seq));
  entries_[store::run_key(run, submission.label)] = {seq, submission};
}

void Oracle::shown(const RunRow& row) {
  const JobRecord* record = job(row.entry.seq);
  if (is_removed(row.entry.seq)) return;
  if (record == nullptr) return violated("a row names " + text_of(row.entry.seq) + ", which does not exist");
  if (row.job.key != submission_key(row.entry.submission))
    violated("a row of " + text_of(row.job) + " has another submission");
  if (row.result.has_value() != (row.job.state == JobState::finished))
    violated("a row of " + text_of(row.job) + " has a result although it is not finished, or has none although it is");
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
    // A late repetition of a request may have given the label to another job, and both may have been removed.
    const auto named = named_.find(key);
    if (is_removed(entry.seq) || (named != named_.end() && is_removed(named->second))) continue;
    if (!bytes || !*bytes) violated("the entry of label " + entry.submission.label + " is lost");
  }
  for (const auto& [seq, record] : jobs_) {
    const auto result = store::read_result(disk, seq, true);
    if (!result || !*result) violated(text_of(seq) + " has no result at the end");
  }
  check_board(disk);
  check_indexes(disk);
  // kq-ctl verify must find no error either.
  const auto verified = store::verify(disk, [&](const std::string& problem) { violated("verify: " + problem); });
  if (!verified) violated("verify: " + verified.error().message);
}

// Compares the rows of kernels on disk with those that the oracle has computed from the results, and the first place of
// each board with the rows of its kernels.
void Oracle::check_board(const store::Store& disk) {
  std::size_t row_count = 0;
  std::map<std::string, std::size_t> kernel_counts;  // by board
  for (const auto& [key, row] : kernels_) ++kernel_counts[store::board_key(row.problem_hash, row.device_model)];
  (void)disk.scan(store::Family::kernel, "", "", [&](std::string_view key, std::string_view value) {
    const auto row = decode<LeaderboardRow>(value);
    const auto place = kernels_.find(std::string(key));
    ++row_count;
    if (place == kernels_.end() || place->second != *row)
      violated("the kernel of " + text_of(row->seq) + " has another figure than its results");
    const std::string board = store::board_key(row->problem_hash, row->device_model);
    const auto first = disk.get(store::Family::board, board);
    if (!first || !*first) return violated("the kernel of " + text_of(row->seq) + " is on no board"), true;
    const auto holder = decode<LeaderboardRow>(**first);
    if (is_better(*row, *holder, kernel_counts[board]))
      violated(text_of(row->seq) + " is better than " + text_of(holder->seq) + ", which has the first place");
    return true;
  });
  if (row_count != kernels_.size())
    violated("the boards have " + std::to_string(row_count) + " kernels instead of " + std::to_string(kernels_.size()));
}

}  // namespace kq::sim
