// The RAM records of jobs, found by sequence or by key, with the leases by deadline: every leased job, every job that
// this turn changed, and as many of the queued ones as BrokerOptions::queued_kept. All others are read from the store
// when they are needed (broker/jobs/lifecycle.h, load).
//
// Owned by Broker. What a turn changed stays until the next Tick, so that the turn sees its own changes before they are
// on disk. Every change of state goes through the table of core/job.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/device.h"
#include "core/records.h"
#include "core/verdict.h"
#include "store/keys.h"

namespace kq::broker {

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
  JobRecord record;                                // as on disk, or as the writes of this turn will make it
  store::LaneId lane{};                            // where it is queued when it is queued and its time has come
  std::optional<Tenure> tenure{};                  // exactly while leased
  std::optional<Ending> ending{};                  // exactly when finished
  std::shared_ptr<const Submission> submission{};  // perhaps: as in family body
};

class JobTable {
 public:
  Job* find(Sequence seq);
  Job* find(const Hash& key);
  const Job* find(Sequence seq) const;

  // `job` is queued, or leased with a tenure, and not here yet.
  Job& insert(Job job);

  // Changes of state. The record's own figures (attempt, failures, times) are the caller's.
  void lease(Job& job, Tenure tenure);
  void requeue(Job& job);
  void finish(Job& job, Ending ending);
  void revive(Job& job);

  void renew(Job& job, std::int64_t deadline_ms);
  void extend_all(std::int64_t ms);
  std::optional<std::int64_t> next_deadline_ms() const;
  std::vector<Sequence> lapsed(std::int64_t now_ms) const;  // in order of their deadlines

  // Drops the finished ones and the newest of too many queued ones: they are on disk now.
  void forget(std::size_t queued_kept);

  std::size_t leased_n() const { return deadlines_.size(); }

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
  void drop(Sequence seq);

  std::unordered_map<Sequence, Job> jobs_;
  std::unordered_map<Hash, Sequence, KeyHash> by_key_;
  std::set<std::pair<std::int64_t, Sequence>> deadlines_;  // of leased jobs
  std::vector<Sequence> touched_;                          // since the last forget(): finished, or queued anew
  std::size_t queued_n_ = 0;                               // of those here
};

}  // namespace kq::broker
