// The workers that said Hello, one session per worker process.
//
// A session is the pair of worker name and epoch. Its peer, the address it is reached at, changes with each reconnect
// of the process and may come to belong to another process; so messages count only if the peer's session has the epoch
// they name.
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

struct Session {
  SessionId id = kNobody;
  std::string peer;
  std::string worker;
  std::uint64_t epoch = 0;
  std::vector<DeviceInfo> devices;
  std::uint32_t credit = 0;
  std::int64_t last_seen_ms = 0;
  std::vector<std::string> labels{};       // sorted
  std::vector<Backend> backends{};         // empty: all
  std::vector<std::string> quarantined{};  // of its devices: why they are not among them any more
  std::vector<DeviceInfo> builds_for{};    // of a worker that only builds: kind and architecture
  std::set<Sequence> builds{};             // that it makes for others (broker/tables/builds.h)
  std::uint64_t built_n = 0;               // objects of its that were taken
  std::set<Sequence> leases{};             // of jobs whose tenure it holds
  std::size_t strays_n = 0;  // leases and builds it listed last that count no more: they still keep it busy
  std::vector<std::optional<std::uint64_t>> warm{};  // by device, of the job that it got last: QueueEntry::problem
  std::uint32_t failures_n = 0;                      // in a row, of attempts it held
  std::int64_t rests_until_ms = 0;                   // gets nothing before

  std::size_t free_credit() const {
    const std::size_t busy = leases.size() + builds.size() + strays_n;
    return busy < credit ? credit - busy : 0;
  }
  // What it offers, to whom its GPUs are not the only thing that counts.
  Offer offer(bool cpu_takes_any) const;
  bool serves(const Requirements& needs) const;
  bool has_gpu() const;
};

class WorkerPool {
 public:
  Session* find(SessionId id);
  Session* find_peer(const std::string& peer);
  Session* find_process(const std::string& worker, std::uint64_t epoch);

  // Neither the peer nor the process has a session yet.
  Session& insert(const std::string& peer, const Hello& hello, std::int64_t now_ms);
  // The process is reached at `peer` from now on; no other session is.
  void move(Session& session, const std::string& peer);
  void remove(SessionId id);
  // It has these from now on; nothing is warm there.
  void set_devices(Session& session, std::vector<DeviceInfo> devices);
  // A job of that problem is on its way to this device.
  void warm(Session& session, std::size_t device, std::uint64_t problem);
  // For a job on that device.
  Warmth warmth(const Session& session, std::size_t device) const {
    return {.own = session.warm[device], .devices_n = &warm_n_};
  }

  // Of any process of that name.
  bool is_connected(const std::string& worker) const;
  // Whether any session could run such jobs.
  bool serves(const Requirements& needs) const;

  std::size_t size() const { return sessions_.size(); }
  std::map<SessionId, Session>& all() { return sessions_; }  // in order of their arrival
  const std::map<SessionId, Session>& all() const { return sessions_; }

 private:
  void cool(const std::optional<std::uint64_t>& problem);

  std::map<SessionId, Session> sessions_;
  std::map<std::string, SessionId> by_peer_;
  std::map<std::pair<std::string, std::uint64_t>, SessionId> by_process_;
  std::map<std::uint64_t, std::size_t> warm_n_;  // devices that have it, by problem; none is 0
  SessionId last_id_ = kNobody;
};

}  // namespace kq::broker
