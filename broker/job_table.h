// The RAM records of unfinished jobs, found by sequence or by key, with their leases by deadline.
//
// Owned by Broker. A job that finishes stays until the next Tick, so that a turn sees its own endings before they are
// on disk; finished jobs of earlier turns are read from the store. Every change of state goes through the table of
// core/job.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broker/scheduler.h"
#include "core/device.h"
#include "core/records.h"
#include "core/verdict.h"

namespace kq {

// Counts sessions of workers since the broker started; 0 is nobody.
using SessionId = std::uint64_t;
inline constexpr SessionId kNobody = 0;

// Who runs a leased job, and until when.
struct Tenure {
  SessionId holder =
      kNobody;         // nobody: after a restart, or when its worker went away; whoever lists the lease takes it up
  std::string worker;  // name of the last holder, for people
  DeviceInfo device;   // empty after a restart
  std::int64_t deadline_ms = 0;
  std::uint32_t heartbeats_missed = 0;
  bool counts = true;  // its lapse is a failure; not so for the leases that a restart found
};

// What a later submission must know to decide whether this ending satisfies it.
struct Ending {
  VerdictName verdict = VerdictName::abandoned;
  std::uint64_t device_memory_bytes = 0;

  friend bool operator==(const Ending&, const Ending&) = default;
};

struct Job {
  JobRecord record;  // as on disk, or as the writes of this turn will make it
  Requirements lane;
  Hash problem;
  std::string run;                 // that last asked for it; empty after a restart
  std::optional<Tenure> tenure{};  // exactly while leased
  std::optional<Ending> ending{};  // exactly when finished
};

class JobTable {
 public:
  Job* find(Sequence seq);
  Job* find(const Hash& key);
  const Job* find(Sequence seq) const;

  // `job` is queued, or leased with a tenure.
  Job& insert(Job job);

  // Changes of state. The record's own figures (attempt, failures, times) are the caller's.
  void lease(Job& job, Tenure tenure);
  void requeue(Job& job);
  void finish(Job& job, Ending ending);
  void revive(Job& job);

  void renew(Job& job, std::int64_t deadline_ms);
  std::optional<std::int64_t> next_deadline_ms() const;
  std::vector<Sequence> lapsed(std::int64_t now_ms) const;  // in order of their deadlines

  // Drops the finished ones: they are on disk now.
  void forget_finished();

  std::size_t queued_n() const { return queued_n_; }
  std::size_t leased_n() const { return deadlines_.size(); }
  std::size_t unfinished_n() const { return queued_n() + leased_n(); }

  // For invariants only: the order is not defined.
  const auto& all() const { return jobs_; }
  const auto& keys() const { return by_key_; }
  const auto& deadlines() const { return deadlines_; }

 private:
  // A key is a SHA-256: any eight of its bytes are a hash already.
  struct KeyHash {
    std::size_t operator()(const Hash& key) const {
      std::size_t value = 0;
      std::memcpy(&value, key.bytes.data(), sizeof value);
      return value;
    }
  };

  void enter(Job& job, JobEvent event);

  std::unordered_map<Sequence, Job> jobs_;
  std::unordered_map<Hash, Sequence, KeyHash> by_key_;
  std::set<std::pair<std::int64_t, Sequence>> deadlines_;  // of leased jobs
  std::vector<Sequence> finished_;
  std::size_t queued_n_ = 0;
};

}  // namespace kq
