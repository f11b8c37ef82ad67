#include "broker/requests/session.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "broker/jobs/lifecycle.h"
#include "broker/jobs/prebuild.h"
#include "core/limits.h"

namespace kq::broker {
namespace {

std::optional<std::string> validation_error(const Hello& hello, const State& state) {
  if (hello.evaluator != kEvaluatorVersion) {
    return "evaluator '" + hello.evaluator + "', this broker takes results of '" + std::string(kEvaluatorVersion) +
           "'; run a worker of the broker's version";
  }
  if (const auto wrong = name_error(hello.worker)) return "the worker's name " + *wrong;
  if (hello.devices.size() > state.options.devices_max) {
    return std::to_string(hello.devices.size()) + " devices, at most " + std::to_string(state.options.devices_max) +
           " are allowed";
  }
  for (const DeviceInfo& device : hello.devices) {
    if (const auto wrong = name_error(device.model)) return "a device's model " + *wrong;
    if (device.device_count < 1 || device.device_count > kDeviceCountMax)
      return "a lane of " + std::to_string(device.device_count) + " devices, it has 1 to " +
             std::to_string(kDeviceCountMax);
    for (const std::string* name : {&device.uuid, &device.arch}) {
      if (const auto wrong = name_error(*name); wrong && !name->empty())
        return "a device's UUID or architecture " + *wrong;
    }
  }
  if (hello.backends.size() > kEnumNames<Backend>.size())
    return std::to_string(hello.backends.size()) + " backends, there are " + std::to_string(kEnumNames<Backend>.size());
  if (hello.labels.size() > kLabelsMax) {
    return std::to_string(hello.labels.size()) + " labels, at most " + std::to_string(kLabelsMax) + " are allowed";
  }
  for (const std::string& label : hello.labels) {
    if (const auto wrong = name_error(label)) return "a label " + *wrong;
  }
  if (hello.quarantined.size() > state.options.devices_max) {
    return std::to_string(hello.quarantined.size()) + " quarantined devices, at most " +
           std::to_string(state.options.devices_max) + " are allowed";
  }
  for (const std::string& sentence : hello.quarantined) {
    if (sentence.size() > kMessageTextMax) return std::string("a quarantined device's sentence is too long");
  }
  if (hello.builds_for.size() > state.options.devices_max) {
    return "it builds for " + std::to_string(hello.builds_for.size()) + " kinds of devices, at most " +
           std::to_string(state.options.devices_max) + " are allowed";
  }
  for (const DeviceInfo& target : hello.builds_for) {
    if (const auto wrong = name_error(target.arch); wrong && target.kind == DeviceKind::cuda)
      return "an architecture it builds for " + *wrong;
  }
  if (!hello.builds_for.empty() && !hello.devices.empty())
    return "a worker that builds for others has no devices of its own";
  if (!std::is_sorted(hello.labels.begin(), hello.labels.end())) return "its labels must be sorted";
  if (hello.credit > state.options.credit_max) {
    return "credit " + std::to_string(hello.credit) + ", at most " + std::to_string(state.options.credit_max) +
           " is allowed";
  }
  return std::nullopt;
}

// Ends the session. Its leases run on until their deadlines, because the worker may reconnect and list them.
void drop(Step& step, Session& session, const std::string& why) {
  step.ready.note(NoteLevel::info, "worker " + session.worker + ": " + why);
  for (const Sequence seq : std::set(session.leases)) release_lease(step, *step.state.queue.jobs().find(seq));
  fail_builds(step, session);
  step.state.workers.remove(session.id);
}

// Returns the session of the process that sent Hello: its old one, moved to its address, or a new one. Null if there
// are too many sessions.
Session* session_for(Step& step, const std::string& peer, const Hello& hello) {
  WorkerPool& workers = step.state.workers;
  Session* session = workers.find_process(hello.worker, hello.epoch);
  if (Session* other = workers.find_peer(peer); other != nullptr && other != session) {
    drop(step, *other, "another process took its address");
  }
  if (session != nullptr) {
    workers.move(*session, peer);
    return session;
  }
  if (workers.size() >= step.state.options.sessions_max) return nullptr;
  step.ready.note(NoteLevel::info,
                  "worker " + hello.worker + ": connected " +
                      (hello.builds_for.empty() ? "with " + std::to_string(hello.devices.size()) +
                                                      (hello.devices.size() == 1 ? " device" : " devices")
                                                : "to build for others"));
  return &workers.insert(peer, hello, step.now_ms);
}

// Keeps the builds of a heartbeat that are for leases or builds of the session.
void update_builds_in_progress(Step& step, Session& session, const std::vector<BuildInProgress>& builds) {
  session.builds_in_progress.clear();
  for (const BuildInProgress& build : std::span(builds).first(std::min(builds.size(), kHeartbeatBuildsMax))) {
    const Job* job = current(step.state, build.lease);
    const bool is_own = build.lease.attempt == 0 ? session.builds.contains(build.lease.seq)
                                                 : job != nullptr && job->lease->session_id == session.id;
    if (is_own)
      session.builds_in_progress[build.lease] = {.started_ms = step.now_ms - build.ms, .extensions = build.extensions};
  }
}

}  // namespace

Expected<void> handle_hello(Step& step, const std::string& peer, std::uint64_t request_id, const Hello& hello) {
  if (auto error = validation_error(hello, step.state)) {
    step.ready.note(NoteLevel::warning,
                    "worker" + (name_error(hello.worker) ? "" : " " + hello.worker) + " refused: " + *error);
    step.ready.send_to_worker(peer, request_id, Refused{std::move(*error)});
    return {};
  }
  Session* session = session_for(step, peer, hello);
  if (session == nullptr) {
    const std::string limit = std::to_string(step.state.options.sessions_max);
    step.ready.send_to_worker(peer, request_id, Refused{limit + " workers are connected, the limit; retry later"});
    return {};
  }
  if (session->devices != hello.devices) step.state.workers.set_devices(*session, hello.devices);
  session->credit = hello.credit;
  step.state.workers.credit_may_have_grown(*session);
  session->labels = hello.labels;
  session->backends = hello.backends;
  session->builds_for = hello.builds_for;
  if (!hello.builds_for.empty()) step.state.builds.next_search_ms = 0;
  if (hello.quarantined.size() > session->quarantined.size()) {
    step.ready.note(NoteLevel::warning, "worker " + hello.worker + ": quarantined " + hello.quarantined.back());
  }
  session->quarantined = hello.quarantined;
  session->last_seen_ms = step.now_ms;
  const BrokerOptions& options = step.state.options;
  step.ready.send_to_worker(peer, request_id, Welcome{options.heartbeat_ms, options.lease_ms});
  return {};
}

Expected<void> handle_heartbeat(Step& step, const std::string& peer, std::uint64_t request_id,
                                const Heartbeat& heartbeat) {
  Session* session = step.state.workers.find_peer(peer);
  if (session == nullptr || session->epoch != heartbeat.epoch) {
    step.ready.send_to_worker(peer, request_id, Unknown{});
    return {};
  }
  session->last_seen_ms = step.now_ms;
  std::set<Sequence> listed;
  std::set<Sequence> builds;
  std::set<LeaseId> unknown;
  for (const LeaseId& lease : heartbeat.leases) {
    if (lease.attempt == 0 && session->builds.contains(lease.seq)) {
      builds.insert(lease.seq);
    } else if (const Job* job = current(step.state, lease);
               job != nullptr && !is_held_by_another(step.state, *job, heartbeat.epoch)) {
      renew_lease(step, *job, *session);
      listed.insert(lease.seq);
    } else {
      unknown.insert(lease);
    }
  }
  session->unknown_lease_count = unknown.size();
  step.state.workers.credit_may_have_grown(*session);
  // These leases are no longer current: the worker did not receive the message that revoked them, or only the broker
  // before a restart knew them. The next heartbeat lists again what does not fit into this message.
  if (!unknown.empty()) {
    const auto end =
        std::next(unknown.begin(),
                  static_cast<std::ptrdiff_t>(std::min<std::size_t>(unknown.size(), step.state.options.credit_max)));
    step.ready.send_to_worker(peer, 0, Revoke{.leases = {unknown.begin(), end}});
  }
  update_builds_in_progress(step, *session, heartbeat.builds);
  if (heartbeat.early) return {};
  update_listed_builds(step, *session, builds);
  // A lease that was sent just before this heartbeat arrived is missing once. A lease that is missing again was never
  // received.
  for (const Sequence seq : std::set(session->leases)) {
    if (listed.contains(seq)) continue;
    const Job& job = *step.state.queue.jobs().find(seq);
    if (count_missed_heartbeat(step, job) < step.state.options.heartbeats_missed_max) continue;
    KQ_TRY(fail(step, job, "worker " + session->worker + " does not have the lease it was sent"));
  }
  return {};
}

Expected<void> handle_goodbye(Step& step, const std::string& peer, const Goodbye& goodbye) {
  Session* session = step.state.workers.find_peer(peer);
  if (session == nullptr || session->epoch != goodbye.epoch) return {};
  for (const Sequence seq : std::set(session->leases))
    requeue(step, *step.state.queue.jobs().find(seq), "its worker left");
  return_builds(step, *session);
  drop(step, *session, "left");
  return {};
}

Expected<void> requeue_undelivered(Step& step, const Undelivered& undelivered) {
  Session* session = step.state.workers.find_peer(undelivered.peer);
  if (session == nullptr) return {};
  for (const LeaseId& lease : undelivered.leases) {
    const Job* job = current(step.state, lease);
    if (job != nullptr && job->lease->session_id == session->id)
      requeue(step, *job, "its lease could not be delivered");
    if (lease.attempt == 0) return_build(step, *session, lease.seq);
  }
  drop(step, *session, "not reached");
  return {};
}

void extend_deadlines(Step& step, std::int64_t stalled_ms) {
  step.ready.note(NoteLevel::warning,
                  "no message was read for " + std::to_string(stalled_ms) + " ms: leases last as much longer");
  extend_leases(step, stalled_ms);
  for (auto& [id, session] : step.state.workers.all())
    session.last_seen_ms = std::min(session.last_seen_ms + stalled_ms, step.now_ms);
  for (auto& [seq, build] : step.state.builds.in_flight) build.deadline_ms += stalled_ms;
}

Expected<void> drop_silent_sessions(Step& step) {
  if (step.now_ms < step.state.workers.silence_check_ms()) return {};
  const std::int64_t silence_ms = step.state.options.lease_ms;
  std::vector<SessionId> silent;
  std::int64_t next_ms = step.now_ms + silence_ms;  // a session that connects later has until then at least
  for (const auto& [id, session] : step.state.workers.all()) {
    if (session.last_seen_ms + silence_ms <= step.now_ms) {
      silent.push_back(id);
    } else {
      next_ms = std::min(next_ms, session.last_seen_ms + silence_ms);
    }
  }
  step.state.workers.set_silence_check_ms(next_ms);
  for (const SessionId id : silent) drop(step, *step.state.workers.find(id), "silent for too long");
  return {};
}

}  // namespace kq::broker
