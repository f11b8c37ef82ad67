#include "broker/tables/worker_pool.h"

#include <algorithm>

#include "core/base/check.h"

namespace kq::broker {

std::int64_t Session::oldest_build_ms() const {
  std::int64_t oldest_ms = 0;
  for (const auto& [lease, build] : builds_in_progress)
    oldest_ms = oldest_ms == 0 ? build.started_ms : std::min(oldest_ms, build.started_ms);
  return oldest_ms;
}

Offer Session::offer(bool cpu_takes_any) const {
  return {.devices = devices,
          .labels = labels,
          .backends = backends,
          .cpu_takes_any = cpu_takes_any,
          .prefers_quick = prefers_quick()};
}

bool Session::serves(const Requirements& needs) const {
  return has(offer(true), needs) && std::any_of(devices.begin(), devices.end(),
                                                [&](const DeviceInfo& device) { return kq::serves(device, needs); });
}

bool Session::has_gpu() const {
  return std::any_of(devices.begin(), devices.end(),
                     [](const DeviceInfo& device) { return device.kind == DeviceKind::cuda; });
}

Session* WorkerPool::find(SessionId id) {
  const auto place = sessions_.find(id);
  return place == sessions_.end() ? nullptr : &place->second;
}

const Session* WorkerPool::find(SessionId id) const {
  const auto place = sessions_.find(id);
  return place == sessions_.end() ? nullptr : &place->second;
}

Session* WorkerPool::find_peer(const std::string& peer) {
  const auto place = by_peer_.find(peer);
  return place == by_peer_.end() ? nullptr : find(place->second);
}

Session* WorkerPool::find_process(const std::string& worker, std::uint64_t epoch) {
  const auto place = by_process_.find({worker, epoch});
  return place == by_process_.end() ? nullptr : find(place->second);
}

Session& WorkerPool::insert(const std::string& peer, const Hello& hello, std::int64_t now_ms) {
  const SessionId id = ++last_id_;
  KQ_CHECK(by_peer_.emplace(peer, id).second);
  KQ_CHECK(by_process_.emplace(std::pair(hello.worker, hello.epoch), id).second);
  Session session{.id = id,
                  .peer = peer,
                  .worker = hello.worker,
                  .epoch = hello.epoch,
                  .devices = {},
                  .credit = hello.credit,
                  .last_seen_ms = now_ms,
                  .labels = hello.labels,
                  .backends = hello.backends};
  Session& inserted = sessions_.emplace(id, std::move(session)).first->second;
  set_devices(inserted, hello.devices);
  credit_may_have_grown(inserted);
  return inserted;
}

void WorkerPool::move(Session& session, const std::string& peer) {
  if (session.peer == peer) return;
  by_peer_.erase(session.peer);
  KQ_CHECK(by_peer_.emplace(peer, session.id).second);
  session.peer = peer;
}

void WorkerPool::remove(SessionId id) {
  const auto place = sessions_.find(id);
  KQ_CHECK(place != sessions_.end());
  set_devices(place->second, {});
  by_peer_.erase(place->second.peer);
  by_process_.erase({place->second.worker, place->second.epoch});
  maybe_free_.erase(id);
  sessions_.erase(place);
}

std::vector<Session*> WorkerPool::with_free_credit() {
  std::vector<Session*> free;
  std::erase_if(maybe_free_, [&](SessionId id) {
    Session& session = sessions_.at(id);
    if (session.free_credit() == 0) return true;
    free.push_back(&session);
    return false;
  });
  return free;
}

void WorkerPool::set_devices(Session& session, std::vector<DeviceInfo> devices) {
  for (const auto& problem : session.warm) cool(problem);
  session.warm.assign(devices.size(), std::nullopt);
  session.devices = std::move(devices);
}

void WorkerPool::warm(Session& session, std::size_t device, std::uint64_t problem) {
  if (session.warm[device] == problem) return;
  cool(session.warm[device]);
  session.warm[device] = problem;
  ++warm_device_counts_[problem];
}

void WorkerPool::cool(const std::optional<std::uint64_t>& problem) {
  if (problem && --warm_device_counts_.at(*problem) == 0) warm_device_counts_.erase(*problem);
}

bool WorkerPool::is_connected(const std::string& worker) const {
  const auto first = by_process_.lower_bound({worker, 0});
  return first != by_process_.end() && first->first.first == worker;
}

bool WorkerPool::serves(const Requirements& needs) const {
  return std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& entry) { return entry.second.serves(needs); });
}

}  // namespace kq::broker
