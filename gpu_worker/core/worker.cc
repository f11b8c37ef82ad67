#include "gpu_worker/core/worker.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/version.h"
#include "core/bytes/codec.h"
#include "core/limits.h"

namespace kq::worker {
namespace {

// How often leases of the problem that is up may run before an older one of another problem.
constexpr int kPassedOverMax = 16;

constexpr std::size_t kPileMin = 2;  // of jobs that wait for one device, beyond the one that it runs

constexpr std::int64_t kObjectResend = 10;  // an object is large: it is sent again after so many times as long

// A result as it must look when the build lane already ended the job.
Result from_build(const Lease& lease, const Built& built, const std::string& worker) {
  return {.verdict = *built.verdict,
          .device = lease.device,
          .worker = worker,
          .times = {.build_ms = built.ms, .build_cached = built.cached, .run_ms = 0},
          .software = {},
          .sandbox = {},
          .log = {},
          .samples = {},
          .toolchain = built.toolchain};
}

// Whatever is meant for one can run on the other, and takes as long there.
bool is_alike(const DeviceInfo& a, const DeviceInfo& b) {
  return a.kind == b.kind && a.model == b.model && a.arch == b.arch && a.memory_bytes == b.memory_bytes;
}

// For others, who know their attempt themselves.
bool is_build(const Lease& lease) {
  return lease.id.attempt == 0;
}

}  // namespace

Worker::Worker(WorkerOptions options)
    : options_(std::move(options)),
      busy_(options_.devices.size(), false),
      lost_(options_.devices.size()),
      last_problem_(options_.devices.size()) {
  KQ_CHECK(options_.devices.empty() != options_.builds_for.empty() && options_.build_slots > 0);
}

WorkerReady Worker::step(WorkerEvent event, std::int64_t now_ms) {
  WorkerReady ready;
  std::visit([&](auto& body) { on(body, now_ms, ready); }, event);
  start_builds(ready);
  start_runs(ready);
  talk(now_ms, ready);
  return ready;
}

void Worker::on(BrokerMessage& said, std::int64_t now_ms, WorkerReady& ready) {
  if (const auto* welcome = std::get_if<Welcome>(&said.reply)) {
    welcome_ = true;
    heartbeat_ms_ = std::max<std::int64_t>(1, welcome->heartbeat_ms);
    next_heartbeat_ms_ =
        now_ms;  // says at once what is held: after a restart of the broker nothing expires by accident
  } else if (auto* batch = std::get_if<LeaseBatch>(&said.reply)) {
    take(*batch);
  } else if (auto* builds = std::get_if<BuildBatch>(&said.reply)) {
    take(*builds);
  } else if (const auto* ack = std::get_if<ResultAck>(&said.reply)) {
    for (const LeaseId& id : ack->leases) {
      const auto found = held_.find(id);
      if (found != held_.end() && found->second.phase == Phase::reporting) held_.erase(found);
    }
  } else if (const auto* revoked = std::get_if<Revoke>(&said.reply)) {
    for (const LeaseId& id : revoked->leases) revoke(id, ready);
  } else if (std::holds_alternative<Unknown>(said.reply)) {
    welcome_ = false;
  } else if (const auto* refused = std::get_if<Refused>(&said.reply)) {
    ready.notes.push_back("the broker refuses this worker: " + refused->reason);
    welcome_ = false;
  }
}

void Worker::take(LeaseBatch& batch) {
  if (batch.epoch != options_.epoch) return;  // meant for an earlier process under this identity
  for (Lease& lease : batch.leases) {
    if (held_.contains(lease.id)) continue;  // sent twice
    Held& held = held_[lease.id];
    held.lease = std::make_shared<const Lease>(std::move(lease));
    settle(held);
  }
}

void Worker::take(BuildBatch& batch) {
  if (batch.epoch != options_.epoch) return;
  for (Lease& build : batch.builds) {
    if (!is_build(build) || held_.contains(build.id)) continue;
    Held& held = held_[build.id];
    held.lease = std::make_shared<const Lease>(std::move(build));
  }
}

// On the device it was meant for, or one like it; back to the broker where there is none.
void Worker::settle(Held& held) {
  if (const auto device = lane_for(held)) {
    held.device = *device;
  } else if (has_lost_one_like(held.lease->device)) {
    held.phase = Phase::returning;
  } else {
    report(held, our_fault("leased for a device this worker does not have"));
  }
}

// What a crew has begun stays here until the crew says that it is done: until then its slot is taken.
void Worker::revoke(const LeaseId& id, WorkerReady& ready) {
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  switch (found->second.phase) {
    case Phase::waiting_build:
    case Phase::waiting_run:
    case Phase::reporting:
    case Phase::returning:
      held_.erase(found);
      return;
    case Phase::building:
    case Phase::running:
      found->second.phase = Phase::stopping;
      ready.stops.push_back(id);
      return;
    case Phase::stopping:
      return;
  }
}

// Of several equal devices the one with the fewest leases. Another like it only where none of them is left: the broker
// has chosen by what is warm there.
std::optional<std::size_t> Worker::lane_for(const Held& lease) const {
  std::vector<std::size_t> load(options_.devices.size());
  for (const auto& [id, held] : held_) {
    if (&held != &lease && held.device < load.size()) ++load[held.device];
  }
  const auto least = [&](const auto& is_meant) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < load.size(); ++i) {
      if (lost_[i].empty() && is_meant(options_.devices[i]) && (!best || load[i] < load[*best])) best = i;
    }
    return best;
  };
  const DeviceInfo& wanted = lease.lease->device;
  const auto best = least([&](const DeviceInfo& device) { return device == wanted; });
  return best ? best : least([&](const DeviceInfo& device) { return is_alike(device, wanted); });
}

bool Worker::has_lost_one_like(const DeviceInfo& device) const {
  for (std::size_t i = 0; i < lost_.size(); ++i) {
    if (!lost_[i].empty() && is_alike(options_.devices[i], device)) return true;
  }
  return false;
}

void Worker::on(BuildDone& done, std::int64_t, WorkerReady&) {
  const auto found = held_.find(done.lease);
  KQ_CHECK(found != held_.end());
  Held& held = found->second;
  if (held.phase == Phase::stopping) {
    held_.erase(found);
    return;
  }
  KQ_CHECK(held.phase == Phase::building);
  if (is_build(*held.lease)) {
    report_build(held, std::move(done.built));
  } else if (!done.built) {
    report(held, failure(done.built.error()));
  } else if (done.built->verdict) {
    report(held, from_build(*held.lease, *done.built, options_.name));
  } else {
    held.built = std::move(*done.built);
    held.phase = Phase::waiting_run;
    if (!lost_[held.device].empty()) settle(held);
  }
}

void Worker::on(RunDone& done, std::int64_t, WorkerReady&) {
  const auto found = held_.find(done.lease);
  KQ_CHECK(found != held_.end());
  busy_[found->second.device] = false;
  if (found->second.phase == Phase::stopping) {
    held_.erase(found);
    return;
  }
  KQ_CHECK(found->second.phase == Phase::running);
  report(found->second, std::move(done.result));
}

void Worker::on(DeviceLost& lost, std::int64_t now_ms, WorkerReady& ready) {
  if (!lost_[lost.device].empty()) return;
  lost_[lost.device] = lost.why;
  ready.notes.push_back("quarantined " + lost.why + "; nothing runs there until this worker starts anew");
  for (auto& [id, held] : held_) {
    if (held.device == lost.device && (held.phase == Phase::waiting_build || held.phase == Phase::waiting_run))
      settle(held);
  }
  welcome_ = false;  // say Hello again: without it
  next_hello_ms_ = now_ms;
}

void Worker::on(DrainRequested&, std::int64_t now_ms, WorkerReady&) {
  draining_ = true;  // what waits stays listed until Goodbye gives it back; what runs is finished first
  welcome_ = false;  // say Hello again: with no credit
  next_hello_ms_ = now_ms;
}

void Worker::on(Tick&, std::int64_t, WorkerReady&) {}

void Worker::report(Held& held, Expected<Result> result) {
  held.phase = Phase::reporting;
  held.sent_at_ms = 0;
  if (result) {
    held.result = std::move(*result);
    held.result->host = options_.host;
    held.result->software.kq = kVersion;
    held.result->software.evaluator = kEvaluatorVersion;
  } else {
    held.error = result.error().message;
  }
}

void Worker::report_build(Held& held, Expected<Built> built) {
  held.phase = Phase::reporting;
  held.sent_at_ms = 0;
  if (!built) {
    held.error = built.error().message;
  } else if (built->object) {
    held.object = std::move(built->object);
  } else {
    held.error =
        built->verdict ? "it ended as " + std::string(to_string(name_of(*built->verdict))) : "nothing to hand over";
  }
}

void Worker::start_builds(WorkerReady& ready) {
  if (begins_nothing()) return;
  std::size_t building = count(Phase::building);
  for (auto& [id, held] : held_) {
    if (building >= options_.build_slots) return;
    if (held.phase != Phase::waiting_build) continue;
    held.phase = Phase::building;
    ++building;
    ready.builds.push_back({held.lease});
  }
}

// Who has a job of its own first: only then is somebody idle.
void Worker::start_runs(WorkerReady& ready) {
  if (begins_nothing()) return;
  for (const auto next : {&Worker::next_run, &Worker::run_of_another}) {
    for (std::size_t device = 0; device < busy_.size(); ++device) {
      if (busy_[device] || !lost_[device].empty()) continue;
      Held* const run = (this->*next)(device);
      if (run == nullptr) continue;
      run->device = device;
      run->phase = Phase::running;
      busy_[device] = true;
      last_problem_[device] = run->lease->submission.problem.hash;
      ready.runs.push_back({run->lease, run->built, device});
    }
  }
}

// The oldest, or one whose reference child is already up.
Worker::Held* Worker::next_run(std::size_t device) {
  Held* oldest = nullptr;
  for (auto& [id, held] : held_) {
    if (held.phase != Phase::waiting_run || held.device != device) continue;
    if (oldest == nullptr) oldest = &held;
    if (oldest->passed_over >= kPassedOverMax) break;
    if (held.lease->submission.problem.hash != last_problem_[device]) continue;
    if (&held != oldest) ++oldest->passed_over;
    return &held;
  }
  return oldest;
}

// A device that would idle takes the newest job that waits for one like it, of where most wait; while jobs of its own
// are being built, only of where they pile up.
Worker::Held* Worker::run_of_another(std::size_t device) {
  std::vector<std::size_t> waiting(options_.devices.size());
  std::vector<Held*> newest(options_.devices.size());
  bool builds = false;
  for (auto& [id, held] : held_) {
    builds = builds || (held.device == device && (held.phase == Phase::waiting_build || held.phase == Phase::building));
    if (held.phase != Phase::waiting_run || !is_alike(options_.devices[held.device], options_.devices[device]))
      continue;
    ++waiting[held.device];
    newest[held.device] = &held;
  }
  const auto most = std::ranges::max_element(waiting);
  if (builds && *most <= kPileMin) return nullptr;
  return newest[static_cast<std::size_t>(most - waiting.begin())];
}

// Everything that is not with a crew, and what is being built: nobody will run that here. One who drains says Goodbye
// anyway.
void Worker::give_back(std::int64_t now_ms, WorkerReady& ready) {
  if (draining_ || count(Phase::returning) == 0 || count(Phase::running) + count(Phase::reporting) > 0) return;
  for (auto& [id, held] : held_) {
    if (held.phase != Phase::building) continue;
    held.phase = Phase::stopping;
    ready.stops.push_back(id);
  }
  std::erase_if(held_, [](const auto& entry) { return entry.second.phase != Phase::stopping; });
  ready.sends.push_back(Goodbye{options_.epoch});
  welcome_ = false;
  next_hello_ms_ = now_ms;
}

void Worker::talk(std::int64_t now_ms, WorkerReady& ready) {
  give_back(now_ms, ready);
  if (!welcome_ && now_ms >= next_hello_ms_) {
    next_hello_ms_ = now_ms + options_.resend_ms;
    std::vector<DeviceInfo> devices;
    std::vector<std::string> quarantined = options_.closed;
    for (std::size_t i = 0; i < lost_.size(); ++i) {
      if (lost_[i].empty()) {
        devices.push_back(options_.devices[i]);
      } else {
        quarantined.push_back(lost_[i]);
      }
    }
    for (std::string& why : quarantined) why = why.substr(0, kMessageTextMax);
    const auto lanes = static_cast<std::uint32_t>(devices.size());
    const std::uint32_t leases = lanes == 0 ? 0 : lanes * (1 + options_.leases_ahead) + options_.build_slots - 1;
    const std::uint32_t builds = options_.builds_for.empty() ? 0 : options_.build_slots + options_.leases_ahead;
    ready.sends.push_back(Hello{.worker = options_.name,
                                .epoch = options_.epoch,
                                .devices = std::move(devices),
                                .credit = draining_ ? 0 : leases + builds,
                                .evaluator = std::string(kEvaluatorVersion),
                                .labels = options_.labels,
                                .backends = options_.backends,
                                .quarantined = std::move(quarantined),
                                .builds_for = options_.builds_for});
  }

  ResultBatch results{.epoch = options_.epoch, .results = {}, .errors = {}};
  for (auto& [id, held] : held_) {
    const std::int64_t resend_ms = held.object ? kObjectResend * options_.resend_ms : options_.resend_ms;
    if (held.phase != Phase::reporting || (held.sent_at_ms != 0 && now_ms < held.sent_at_ms + resend_ms)) continue;
    held.sent_at_ms = now_ms;
    if (is_build(*held.lease)) {
      ready.sends.push_back(BuildResult{.epoch = options_.epoch,
                                        .build = id,
                                        .object = held.object,
                                        .message = held.error.substr(0, kMessageTextMax)});
    } else if (held.result) {
      results.results.push_back({id, *held.result});
    } else {
      results.errors.push_back({id, held.error});
    }
  }
  if (!results.results.empty() || !results.errors.empty()) ready.sends.push_back(std::move(results));

  if (welcome_ && now_ms >= next_heartbeat_ms_) {
    next_heartbeat_ms_ = now_ms + heartbeat_ms_;
    Heartbeat heartbeat{.epoch = options_.epoch, .leases = {}};
    for (const auto& [id, held] : held_) {
      if (held.phase != Phase::stopping) heartbeat.leases.push_back(id);
    }
    ready.sends.push_back(std::move(heartbeat));
  }

  if (draining_ && count(Phase::building) + count(Phase::running) + count(Phase::reporting) == 0) {
    ready.sends.push_back(Goodbye{options_.epoch});
    ready.finished = true;
  }

  ready.wake_at_ms = welcome_ ? next_heartbeat_ms_ : next_hello_ms_;
  if (count(Phase::reporting) > 0) ready.wake_at_ms = std::min(ready.wake_at_ms, now_ms + options_.resend_ms);
}

std::size_t Worker::count(Phase phase) const {
  return static_cast<std::size_t>(
      std::count_if(held_.begin(), held_.end(), [phase](const auto& entry) { return entry.second.phase == phase; }));
}

}  // namespace kq::worker
