#include "tests/sim/plant.h"

#include <algorithm>
#include <utility>

#include "core/codec/codec.h"
#include "store/keys.h"
#include "tests/sim/index.h"
#include "tests/sim/oracle.h"

namespace kq::sim {
namespace {

// Calls `change` on the body of an encoded message if it is a `Body`, and encodes the message again.
template <class Body, class Union, class Change>
void change_message(std::string& bytes, const Change& change) {
  auto message = decode_message<Union>(bytes);
  auto* body = message ? std::get_if<Body>(&message->body) : nullptr;
  if (body == nullptr) return;
  change(*body);
  bytes = encode_message(*message);
}

// Returns the writes for which `keep` is true.
template <class Keep>
std::vector<store::Write> writes_where(std::span<const store::Write> writes, const Keep& keep) {
  std::vector<store::Write> kept;
  for (const store::Write& write : writes) {
    if (keep(write)) kept.push_back(write);
  }
  return kept;
}

// Whether the write is a row of a run whose job is not new in these writes.
bool is_row_of_known_job(const store::Write& write, std::span<const store::Write> writes) {
  if (write.family != store::Family::run || !write.value) return false;
  const std::string seq = store::sequence_key(decode<RunEntry>(*write.value)->seq);
  return std::none_of(writes.begin(), writes.end(), [&](const store::Write& other) {
    return other.family == store::Family::body && other.key == seq;
  });
}

// Whether the write belongs to a job that these writes cancel.
bool is_of_cancelled(const store::Write& write, std::span<const store::Write> writes) {
  if (!is_permanent(write.family)) return false;
  return std::any_of(writes.begin(), writes.end(), [&](const store::Write& other) {
    return other.family == store::Family::result && other.value && other.key == write.key &&
           name_of(decode<Result>(*other.value)->verdict) == VerdictName::cancelled;
  });
}

bool is_wakeup(const store::Write& write) {
  const auto place =
      write.family == store::Family::timer && write.value ? store::timer_place_from(write.key) : std::nullopt;
  return place && place->kind == store::TimerKind::may_run;
}

bool is_lease(const store::Write& write) {
  return write.family == store::Family::state && write.value &&
         decode<JobRecord>(*write.value)->state == JobState::leased;
}

}  // namespace

broker::BrokerOptions Saboteur::on_start(broker::BrokerOptions options) const {
  if (is(Plant::no_lease_expiry)) options.lease_ms = 1u << 31;
  if (is(Plant::quota_forgotten)) options.submitter_jobs_max = 1'000;
  if (is(Plant::removed_too_early)) {
    options.keep_ms /= 2;
    options.keep_ms_min /= 2;
  }
  return options;
}

std::vector<store::Write> Saboteur::on_commit(std::span<const store::Write> writes) {
  const auto is_first = [this](const store::Write& write) { return written_.insert(write.key).second; };
  switch (plant_) {
    case Plant::send_before_persist:
      return std::exchange(unsafe_, {writes.begin(), writes.end()});
    case Plant::lease_not_saved:
      return writes_where(writes, [](const store::Write& write) { return !is_lease(write); });
    case Plant::worse_row_stays:
      return writes_where(
          writes, [&](const store::Write& write) { return write.family != store::Family::board || is_first(write); });
    case Plant::run_row_lost:
      return writes_where(writes, [&](const store::Write& write) { return !is_row_of_known_job(write, writes); });
    case Plant::requeue_lost: {
      std::vector<store::Write> changed(writes.begin(), writes.end());
      for (store::Write& write : changed) {
        const auto entry =
            write.family == store::Family::queue && write.value ? store::queue_entry_from(*write.value) : std::nullopt;
        if (entry && !is_first(write) && !entry->leased) write.value.reset();
      }
      return changed;
    }
    case Plant::wakeup_lost:
      return writes_where(writes, [](const store::Write& write) { return !is_wakeup(write); });
    case Plant::dead_letter_lost:
      return writes_where(
          writes, [](const store::Write& write) { return write.family != store::Family::dead || !write.value; });
    case Plant::cancel_forgotten:
      return writes_where(writes, [&](const store::Write& write) { return !is_of_cancelled(write, writes); });
    case Plant::pause_forgotten:
      return writes_where(writes,
                          [](const store::Write& write) { return !write.key.starts_with(store::kPausedPrefix); });
    case Plant::label_left:
      return writes_where(writes,
                          [](const store::Write& write) { return write.family != store::Family::run || write.value; });
    case Plant::file_taken: {
      std::vector<store::Write> changed(writes.begin(), writes.end());
      const auto is_removal = [](const store::Write& write) {
        return write.family == store::Family::state && !write.value;
      };
      if (std::any_of(writes.begin(), writes.end(), is_removal) && !newest_file_.empty()) {
        changed.push_back({store::Family::blob, std::exchange(newest_file_, {}), std::nullopt});
      }
      for (const store::Write& write : writes) {
        if (write.family == store::Family::blob && write.value) newest_file_ = write.key;
      }
      return changed;
    }
    case Plant::object_swapped:
      for (const store::Write& write : writes) {
        if (write.family == store::Family::object && write.value) newest_object_ = *write.value;
      }
      return {writes.begin(), writes.end()};
    case Plant::object_left:
      return writes_where(
          writes, [](const store::Write& write) { return write.family != store::Family::object || write.value; });
    default:
      return {writes.begin(), writes.end()};
  }
}

void Saboteur::on_get(store::Family family, std::optional<std::string>& value) const {
  if (is(Plant::no_dedupe) && family == store::Family::ids) value.reset();
  if (is(Plant::object_swapped) && family == store::Family::object && !newest_object_.empty()) value = newest_object_;
  if (is(Plant::worse_row_wins) && family == store::Family::board) value.reset();
  if (is(Plant::revives_settled) && family == store::Family::result && value) {
    Result result = *decode<Result>(*value);
    result.verdict = ended(VerdictName::cancelled, {});
    value = encode(result);
  }
}

void Saboteur::on_arrival(net::Packet& packet) {
  if (packet.peer.side == net::Side::client) {
    if (!is(Plant::priority_forgotten) && !is(Plant::deadline_forgotten)) return;
    return change_message<SubmitBatch, ClientRequest>(packet.bytes, [&](SubmitBatch& batch) {
      for (Submission& job : batch.jobs) {
        if (is(Plant::priority_forgotten)) job.priority = Priority::normal;
        if (is(Plant::deadline_forgotten)) job.deadline_ms = 0;
      }
    });
  }
  if (is(Plant::double_lease)) {
    change_message<Hello, WorkerRequest>(packet.bytes, [&](Hello& hello) { epochs_[packet.peer] = hello.epoch; });
  }
  if (is(Plant::no_attempt_fencing)) {
    change_message<ResultBatch, WorkerRequest>(packet.bytes, [&](ResultBatch& batch) {
      for (AttemptResult& result : batch.results) {
        if (const JobRecord* record = oracle_.job(result.lease.seq)) result.lease.attempt = record->attempt;
      }
    });
  }
  if (is(Plant::result_dropped)) {
    // The broker ignores results of attempt 0, and on_send() restores the attempt in the acknowledgement.
    change_message<ResultBatch, WorkerRequest>(packet.bytes, [&](ResultBatch& batch) {
      for (AttemptResult& result : batch.results) {
        dropped_[result.lease.seq] = std::exchange(result.lease.attempt, 0);
      }
    });
  }
}

std::vector<std::pair<net::Peer, std::string>> Saboteur::on_send(const net::Peer& peer, std::string& bytes) {
  std::vector<std::pair<net::Peer, std::string>> more;
  if (peer.side == net::Side::client) return more;
  if (is(Plant::double_lease)) {
    std::string copy = bytes;
    change_message<LeaseBatch, WorkerReply>(copy, [&](LeaseBatch& batch) {
      for (const auto& [other, epoch] : epochs_) {
        if (other == peer || !more.empty()) continue;
        batch.epoch = epoch;
        more.emplace_back(other, encode_message(Message<WorkerReply>{0, batch}));
      }
    });
  }
  if (is(Plant::result_dropped)) {
    change_message<ResultAck, WorkerReply>(bytes, [&](ResultAck& ack) {
      for (LeaseId& lease : ack.leases) {
        if (lease.attempt == 0) lease.attempt = dropped_[lease.seq];
      }
    });
  }
  return more;
}

}  // namespace kq::sim
