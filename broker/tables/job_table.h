// The jobs in memory, found by sequence or by key, and the leases by deadline.
//
// The table holds every leased job, every job that this turn changed, and at most BrokerOptions::queued_jobs_cached_max
// queued jobs. All others are read from the store when they are needed (load() in broker/jobs/lifecycle.h). A job that
// a turn changed stays until the next Tick, so that the turn sees its own changes before they are on disk. Every change
// of a job's state follows the table in core/job.h.
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

// Numbers the sessions of workers since the broker started; 0 is no session.
using SessionId = std::uint64_t;
inline constexpr SessionId kNoSession = 0;

// The current lease of a job: which worker runs the job, and until when.
struct ActiveLease {
  // kNoSession after a restart of the broker, or when the session ended. Then the first session whose heartbeat lists
  // the lease gets it.
  SessionId session_id = kNoSession;
  std::string worker;  // name of the last worker that had the lease, for messages
  DeviceInfo device;   // empty after a restart
  std::int64_t deadline_ms = 0;
  std::uint32_t heartbeats_missed = 0;
  bool lapse_is_failure = true;  // false for a lease from before a restart until a worker lists it
};

// How a job ended, as far as a later submission of the same work needs it.
struct Ending {
  VerdictName verdict = VerdictName::abandoned;
  std::uint64_t device_memory_bytes = 0;

  friend bool operator==(const Ending&, const Ending&) = default;
};

struct Job {
  JobRecord record;                                // as on disk, or as the writes of this turn will make it
  store::LaneId lane{};                            // the lane of the job while it is queued and may run
  std::optional<ActiveLease> lease{};              // exactly while the job is leased
  std::optional<Ending> ending{};                  // exactly when the job is finished
  std::shared_ptr<const Submission> submission{};  // as in family body; null if it was not read
};

class JobTable {
 public:
  // Each returns null for a job that is not in memory.
  Job* find(Sequence seq);
  const Job* find(Sequence seq) const;
  const Job* find(const Hash& key) const;

  // Adds a job that is queued, or leased with its lease. The job must not be in the table.
  Job& insert(Job job);

  // Change the state of a job. The caller sets the other fields of the record (attempt, failures, times).
  void start_lease(Job& job, ActiveLease lease);
  void requeue(Job& job);
  void finish(Job& job, Ending ending);
  void revive(Job& job);

  void renew(Job& job, std::int64_t deadline_ms);
  void extend_all(std::int64_t ms);  // moves the deadlines of all leases
  std::optional<std::int64_t> next_deadline_ms() const;
  std::vector<Sequence> lapsed(std::int64_t now_ms) const;  // in the order of their deadlines

  // Drops the finished jobs and the newest queued jobs beyond the limit. All changes must be on disk.
  void shrink(std::size_t queued_jobs_cached_max);

  std::size_t leased_count() const { return deadlines_.size(); }

  // For invariants only; the order is not defined.
  const auto& all() const { return jobs_; }
  const auto& keys() const { return by_key_; }
  const auto& deadlines() const { return deadlines_; }

 private:
  // The key is a SHA-256, so any eight of its bytes serve as a hash.
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
  std::vector<Sequence> touched_;                          // finished or queued since the last shrink()
  std::size_t queued_count_ = 0;                           // queued jobs in the table
};

}  // namespace kq::broker
