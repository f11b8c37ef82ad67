// The connected workers: one session for each worker process that sent Hello.
//
// A session is identified by the worker's name and epoch. Its peer, the address of its connection, changes when the
// process reconnects, and may later belong to another process. So a message counts only if the session of its peer has
// the epoch that the message names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/tables/job_table.h"
#include "broker/tables/scheduler.h"
#include "core/messages.h"

namespace kq::broker {

// A build that a session runs at present, for one of its leases or builds.
struct SessionBuild {
  std::int64_t started_ms = 0;
  bool extensions = false;  // whether it compiles extensions of torch
};

struct Session {
  SessionId id = kNoSession;
  std::string peer;
  std::string worker;
  std::uint64_t epoch = 0;
  std::vector<DeviceInfo> devices;
  std::uint32_t credit = 0;
  std::int64_t last_seen_ms = 0;
  std::vector<std::string> labels{};       // sorted
  std::vector<Backend> backends{};         // empty: all
  std::vector<std::string> quarantined{};  // for each quarantined device, why it was removed from `devices`
  std::vector<DeviceInfo> builds_for{};    // targets of a worker that only builds: kind and architecture
  std::set<Sequence> builds{};             // jobs that it builds (broker/jobs/prebuild.h)
  std::uint64_t built_count = 0;           // artifacts of this worker that were accepted
  std::set<Sequence> leases{};             // jobs that it has leased
  std::size_t slow_lease_count = 0;        // of them, jobs that are slow to build (is_slow_to_build)
  // Leases and builds in its last heartbeat that are no longer current. They still use up credit.
  std::size_t unknown_lease_count = 0;
  // The builds that its last heartbeat named, at most kHeartbeatBuildsMax. Attempt 0 is a build of `builds`.
  std::map<LeaseId, SessionBuild> builds_in_progress{};
  std::vector<std::optional<std::uint64_t>> warm{};  // by device: the problem of the last job
  std::uint32_t failure_count = 0;                   // failed attempts in a row
  std::int64_t backs_off_until_ms = 0;               // gets no jobs before this time

  std::size_t free_credit() const {
    const std::size_t busy = leases.size() + builds.size() + unknown_lease_count;
    return busy < credit ? credit - busy : 0;
  }
  Offer offer(bool cpu_takes_any) const;
  bool serves(const Requirements& needs) const;
  bool has_gpu() const;
  // Returns whether the rest of the credit is for quick builds: for a running job of each device, and one that is
  // built.
  bool prefers_quick() const { return slow_lease_count > 0 && slow_lease_count + devices.size() + 1 >= credit; }
  // Returns when the longest build in progress began; 0 if there is none.
  std::int64_t oldest_build_ms() const;
};

class WorkerPool {
 public:
  Session* find(SessionId id);
  const Session* find(SessionId id) const;
  Session* find_peer(const std::string& peer);
  Session* find_process(const std::string& worker, std::uint64_t epoch);

  // Adds a session. Neither the peer nor the process may have one.
  Session& insert(const std::string& peer, const Hello& hello, std::int64_t now_ms);
  // Changes the address of a session. No other session may have it.
  void move(Session& session, const std::string& peer);
  void remove(SessionId id);
  // Replaces the devices of a session. Nothing is warm on the new ones.
  void set_devices(Session& session, std::vector<DeviceInfo> devices);
  // Notes that a job of this problem was sent to this device.
  void warm(Session& session, std::size_t device, std::uint64_t problem);
  // Returns what is warm there and elsewhere, to choose a job for this device.
  Warmth warmth(const Session& session, std::size_t device) const {
    return {.own = session.warm[device], .device_counts = &warm_device_counts_};
  }

  // Notes that the free credit of the session may have grown. Without this call the session gets no more jobs.
  void credit_may_have_grown(const Session& session) { maybe_free_.insert(session.id); }
  bool may_have_free_credit(const Session& session) const { return maybe_free_.contains(session.id); }
  // Returns the sessions with free credit, in the order of arrival. The call takes no time for busy sessions.
  std::vector<Session*> with_free_credit();

  // No session has been silent for too long before this time. drop_silent_sessions() keeps it, so that not every turn
  // looks at every session.
  std::int64_t silence_check_ms() const { return silence_check_ms_; }
  void set_silence_check_ms(std::int64_t ms) { silence_check_ms_ = ms; }

  // Returns whether any process of this worker is connected.
  bool is_connected(const std::string& worker) const;
  // Returns whether any session could run jobs with these requirements.
  bool serves(const Requirements& needs) const;

  std::size_t size() const { return sessions_.size(); }
  std::map<SessionId, Session>& all() { return sessions_; }  // in the order of arrival
  const std::map<SessionId, Session>& all() const { return sessions_; }

 private:
  void cool(const std::optional<std::uint64_t>& problem);

  std::map<SessionId, Session> sessions_;
  std::map<std::string, SessionId> by_peer_;
  std::map<std::pair<std::string, std::uint64_t>, SessionId> by_process_;
  std::set<SessionId> maybe_free_;  // every session with free credit, and some without
  std::int64_t silence_check_ms_ = 0;
  std::map<std::uint64_t, std::size_t> warm_device_counts_;  // number of devices by warm problem; none is 0
  SessionId last_id_ = kNoSession;
};

}  // namespace kq::broker
