#include "gpu_worker/core/worker.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/check.h"
#include "core/base/version.h"
#include "core/blob.h"
#include "core/codec/codec.h"
#include "core/limits.h"

namespace kq::worker {
namespace {

// A lane prefers leases of the problem whose reference child it keeps. This is how often such leases may go before an
// older lease.
constexpr int kPassedOverMax = 16;

// A device without a job to run takes a lease of an equivalent device. While leases of its own are being built, it does
// so only if more than this many leases wait at the other device.
constexpr std::size_t kBacklogMin = 2;

// The limits of the results in one message.
constexpr std::size_t kResultBatchBytesMax = 16u << 20;
constexpr std::size_t kResultBatchItemsMax = kMessageItemsTotalMax / 2;

// Objects are large, so they are sent again this many times less often than results.
constexpr std::int64_t kObjectResendFactor = 10;

// Makes the result of a job that ended in its build.
Result result_of_build(const Lease& lease, const Built& built, const std::string& worker) {
  return {.verdict = *built.verdict,
          .device = lease.device,
          .worker = worker,
          .times = {.build_ms = built.ms, .build_cached = built.cached, .run_ms = 0},
          .software = {},
          .sandbox = {},
          .log = {},
          .samples = {},
          .toolchain = built.toolchain,
          .extensions = built.extensions,
          .findings = built.findings};
}

// Whether a job for one device can run on the other device, and takes as long there.
bool is_equivalent(const DeviceInfo& a, const DeviceInfo& b) {
  return a.kind == b.kind && a.model == b.model && a.arch == b.arch && a.memory_bytes == b.memory_bytes &&
         a.device_count == b.device_count;
}

// Whether a build of the lease may compile extensions. harness/kernels/build_child.py looks for the same words.
bool has_extensions(const Lease& lease) {
  if (lease.submission.backend == Backend::cuda || lease.object) return false;
  Decompressor decompressor;
  return std::ranges::any_of(lease.submission.files, [&](const SourceFile& file) {
    const auto blob = std::ranges::find(lease.blobs, file.hash, &Blob::hash);
    if (blob == lease.blobs.end()) return false;
    const auto text = content_of(decompressor, *blob);  // the build reports a damaged blob
    return text && (text->find("load_inline") != std::string::npos || text->find("cpp_extension") != std::string::npos);
  });
}

// Whether a lease is a build for another worker.
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
  std::visit([&](auto& body) { on(body, {now_ms, ready}); }, event);
  start_runs(ready);
  start_builds({now_ms, ready});
  send_messages({now_ms, ready});
  return ready;
}

void Worker::on(BrokerMessage& message, Step step) {
  std::visit([&](auto& reply) { on_reply(reply, step); }, message.reply);
}

void Worker::on_reply(Welcome& welcome, Step step) {
  welcome_ = true;
  step.ready.connected = !is_connection_told_;
  is_connection_told_ = true;
  is_silence_told_ = false;
  told_refusal_.clear();
  unanswered_since_ms_.reset();
  heartbeat_ms_ = std::max<std::int64_t>(1, welcome.heartbeat_ms);
  // The first heartbeat goes out at once, so that no lease expires after the broker was started again.
  next_heartbeat_ms_ = step.now_ms;
}

void Worker::on_reply(LeaseBatch& batch, Step) {
  if (batch.epoch != options_.epoch) return;  // for an earlier process of the same name
  for (Lease& lease : batch.leases) {
    if (leases_.contains(lease.id)) continue;  // the broker has sent it twice
    HeldLease& held = leases_[lease.id];
    held.is_slow = has_extensions(lease);
    held.lease = std::make_shared<const Lease>(std::move(lease));
    assign_device(held);
  }
}

void Worker::on_reply(BuildBatch& batch, Step) {
  if (batch.epoch != options_.epoch) return;
  for (Lease& build : batch.builds) {
    if (!is_build(build) || leases_.contains(build.id)) continue;
    HeldLease& held = leases_[build.id];  // made first, because the assignment would evaluate its right side first
    held.is_slow = has_extensions(build);
    held.lease = std::make_shared<const Lease>(std::move(build));
  }
}

void Worker::on_reply(ResultAck& ack, Step) {
  for (const LeaseId& id : ack.leases) {
    const auto found = leases_.find(id);
    if (found != leases_.end() && found->second.phase == Phase::reporting) leases_.erase(found);
  }
}

void Worker::on_reply(Revoke& revoked, Step step) {
  for (const LeaseId& id : revoked.leases) revoke(id, step.ready);
}

void Worker::on_reply(Unknown&, Step) {
  welcome_ = false;
}

void Worker::on_reply(Refused& refused, Step step) {
  if (refused.reason != told_refusal_) step.ready.notes.push_back("the broker refuses this worker: " + refused.reason);
  told_refusal_ = refused.reason;
  welcome_ = false;
}

// Gives the lease to its own device or to an equivalent one. If all of these devices are lost, the lease is returned to
// the broker; if the worker never had one, the attempt fails.
void Worker::assign_device(HeldLease& held) {
  if (const auto device = device_for(held)) {
    held.device = *device;
  } else if (has_lost_equivalent(held.lease->device)) {
    held.phase = Phase::returning;
  } else {
    report(held, our_fault("the lease is for a device that this worker does not have"));
  }
}

// Drops a lease. If its build or run is in progress, stops that work and keeps the lease until the work has ended,
// because the work occupies a build slot or a device until then.
void Worker::revoke(const LeaseId& id, WorkerReady& ready) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  switch (found->second.phase) {
    case Phase::waiting_build:
    case Phase::waiting_run:
    case Phase::reporting:
    case Phase::returning:
      leases_.erase(found);
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

// Returns the device with the fewest leases among the devices that equal the lease's device. Only if these are all
// lost, returns an equivalent device with another UUID: the broker may have chosen the device because it keeps the
// problem's reference. Returns nothing if those are lost too.
std::optional<std::size_t> Worker::device_for(const HeldLease& held) const {
  std::vector<std::size_t> load(options_.devices.size());
  for (const auto& [id, other] : leases_) {
    if (&other != &held && other.device < load.size()) ++load[other.device];
  }
  const auto least_loaded = [&](const auto& is_candidate) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < load.size(); ++i) {
      if (lost_[i].empty() && is_candidate(options_.devices[i]) && (!best || load[i] < load[*best])) best = i;
    }
    return best;
  };
  const DeviceInfo& wanted = held.lease->device;
  const auto best = least_loaded([&](const DeviceInfo& device) { return device == wanted; });
  return best ? best : least_loaded([&](const DeviceInfo& device) { return is_equivalent(device, wanted); });
}

bool Worker::has_lost_equivalent(const DeviceInfo& device) const {
  for (std::size_t i = 0; i < lost_.size(); ++i) {
    if (!lost_[i].empty() && is_equivalent(options_.devices[i], device)) return true;
  }
  return false;
}

void Worker::on(BuildDone& done, Step) {
  const auto found = leases_.find(done.lease);
  KQ_CHECK(found != leases_.end());
  HeldLease& held = found->second;
  if (held.phase == Phase::stopping) {
    leases_.erase(found);
    return;
  }
  KQ_CHECK(held.phase == Phase::building);
  if (is_build(*held.lease)) {
    report_build(held, std::move(done.built));
  } else if (!done.built) {
    report(held, failure(done.built.error()));
  } else if (done.built->verdict) {
    report(held, result_of_build(*held.lease, *done.built, options_.name));
  } else {
    held.built = std::move(*done.built);
    held.phase = Phase::waiting_run;
    if (!lost_[held.device].empty()) assign_device(held);
  }
}

void Worker::on(RunDone& done, Step) {
  const auto found = leases_.find(done.lease);
  KQ_CHECK(found != leases_.end());
  busy_[found->second.device] = false;
  if (found->second.phase == Phase::stopping) {
    leases_.erase(found);
    return;
  }
  KQ_CHECK(found->second.phase == Phase::running);
  report(found->second, std::move(done.result));
}

void Worker::on(DeviceLost& lost, Step step) {
  if (!lost_[lost.device].empty()) return;
  lost_[lost.device] = lost.reason;
  step.ready.notes.push_back("quarantined " + lost.reason + "; nothing runs there until this worker is started again");
  for (auto& [id, held] : leases_) {
    if (held.device == lost.device && (held.phase == Phase::waiting_build || held.phase == Phase::waiting_run))
      assign_device(held);
  }
  welcome_ = false;  // Hello is sent again, without this device
  next_hello_ms_ = step.now_ms;
}

void Worker::on(DrainRequested&, Step step) {
  draining_ = true;  // heartbeats list the waiting leases until Goodbye returns them
  welcome_ = false;  // Hello is sent again, with a credit of 0
  next_hello_ms_ = step.now_ms;
}

void Worker::on(Tick&, Step) {}

void Worker::report(HeldLease& held, Expected<Result> result) {
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

void Worker::report_build(HeldLease& held, Expected<Built> built) {
  held.phase = Phase::reporting;
  held.sent_at_ms = 0;
  if (!built) {
    held.error = built.error().message;
  } else if (built->object) {
    held.object = std::move(built->object);
  } else {
    held.error =
        built->verdict ? "it ended as " + std::string(to_string(name_of(*built->verdict))) : "the build made no object";
  }
}

void Worker::start_builds(Step step) {
  if (is_start_blocked()) return;
  std::size_t building = 0, slow = 0;
  for (const auto& [id, held] : leases_) {
    if (held.phase != Phase::building) continue;
    ++building;
    slow += held.is_slow ? 1 : 0;
  }
  const bool are_beside_jobs = std::ranges::find(busy_, true) != busy_.end();
  const std::uint32_t slots = are_beside_jobs ? options_.build_slots : build_slots_max();
  for (auto& [id, held] : leases_) {
    // The slots for quick builds are for the case that slow ones have all the others.
    if (building >= std::max<std::size_t>(slots, slow) + kQuickSlots) return;
    const bool has_slot = building < slots || (!held.is_slow && slow >= slots);
    if (held.phase != Phase::waiting_build || !has_slot) continue;
    held.phase = Phase::building;
    held.build_started_ms = step.now_ms;
    ++building;
    slow += held.is_slow ? 1 : 0;
    step.ready.builds.push_back({held.lease, are_beside_jobs});
  }
}

// First every free device starts a lease of its own; then devices that stay idle take leases of equivalent devices.
void Worker::start_runs(WorkerReady& ready) {
  if (is_start_blocked()) return;
  for (const auto next : {&Worker::next_run, &Worker::steal_run}) {
    for (std::size_t device = 0; device < busy_.size(); ++device) {
      if (busy_[device] || !lost_[device].empty()) continue;
      HeldLease* const run = (this->*next)(device);
      if (run == nullptr) continue;
      run->device = device;
      run->phase = Phase::running;
      busy_[device] = true;
      last_problem_[device] = run->lease->submission.problem.hash;
      ready.runs.push_back({run->lease, run->built, device});
    }
  }
}

// Returns the oldest waiting lease of the problem that ran last on the device, because the lane keeps its reference
// child. Returns the oldest waiting lease of all if there is no such lease, or if the oldest was passed over too often.
Worker::HeldLease* Worker::next_run(std::size_t device) {
  HeldLease* oldest = nullptr;
  for (auto& [id, held] : leases_) {
    if (held.phase != Phase::waiting_run || held.device != device) continue;
    if (oldest == nullptr) oldest = &held;
    if (oldest->passed_over >= kPassedOverMax) break;
    if (held.lease->submission.problem.hash != last_problem_[device]) continue;
    if (&held != oldest) ++oldest->passed_over;
    return &held;
  }
  return oldest;
}

// Returns the newest waiting lease of the equivalent device with the most waiting leases. While leases of `device`
// itself are being built, more than kBacklogMin must wait there. Returns null if there is no such lease.
Worker::HeldLease* Worker::steal_run(std::size_t device) {
  std::vector<std::size_t> waiting(options_.devices.size());
  std::vector<HeldLease*> newest(options_.devices.size());
  bool builds = false;
  for (auto& [id, held] : leases_) {
    builds = builds || (held.device == device && (held.phase == Phase::waiting_build || held.phase == Phase::building));
    if (held.phase != Phase::waiting_run || !is_equivalent(options_.devices[held.device], options_.devices[device]))
      continue;
    ++waiting[held.device];
    newest[held.device] = &held;
  }
  const auto most = std::ranges::max_element(waiting);
  if (builds && *most <= kBacklogMin) return nullptr;
  return newest[static_cast<std::size_t>(most - waiting.begin())];
}

// Sends Goodbye for all leases if some are to be returned and nothing runs or waits for an acknowledgement. Builds in
// progress are stopped. A draining worker says Goodbye at its end anyway.
void Worker::return_leases(Step step) {
  if (draining_ || count(Phase::returning) == 0 || count(Phase::running) + count(Phase::reporting) > 0) return;
  for (auto& [id, held] : leases_) {
    if (held.phase != Phase::building) continue;
    held.phase = Phase::stopping;
    step.ready.stops.push_back(id);
  }
  std::erase_if(leases_, [](const auto& entry) { return entry.second.phase != Phase::stopping; });
  step.ready.sends.push_back(Goodbye{options_.epoch});
  welcome_ = false;
  next_hello_ms_ = step.now_ms;
}

void Worker::send_messages(Step step) {
  return_leases(step);
  if (!welcome_ && step.now_ms >= next_hello_ms_) send_hello(step);
  send_results(step);
  if (welcome_ && step.now_ms >= heartbeat_due_ms()) send_heartbeat(step);
  if (draining_ && count(Phase::building) + count(Phase::running) + count(Phase::reporting) == 0) {
    step.ready.sends.push_back(Goodbye{options_.epoch});
    step.ready.finished = true;
  }
  step.ready.wake_at_ms = welcome_ ? heartbeat_due_ms() : next_hello_ms_;
  if (count(Phase::reporting) > 0)
    step.ready.wake_at_ms = std::min(step.ready.wake_at_ms, step.now_ms + options_.resend_ms);
}

void Worker::send_hello(Step step) {
  next_hello_ms_ = step.now_ms + options_.resend_ms;
  if (!unanswered_since_ms_) unanswered_since_ms_ = step.now_ms;
  if (!is_silence_told_ && step.now_ms - *unanswered_since_ms_ >= kSilenceToldMs) {
    step.ready.unanswered = is_silence_told_ = true;
    is_connection_told_ = false;
  }
  std::vector<DeviceInfo> devices;
  std::vector<std::string> quarantined = options_.unopened;
  for (std::size_t i = 0; i < lost_.size(); ++i) {
    if (lost_[i].empty()) {
      devices.push_back(options_.devices[i]);
    } else {
      quarantined.push_back(lost_[i]);
    }
  }
  for (std::string& reason : quarantined) reason = reason.substr(0, kMessageTextMax);
  const auto lanes = static_cast<std::uint32_t>(devices.size());
  const std::uint32_t leases =
      lanes == 0 ? 0 : lanes * (1 + options_.leases_ahead) + build_slots_max() - 1 + kQuickSlots;
  const std::uint32_t builds = options_.builds_for.empty() ? 0 : options_.build_slots + options_.leases_ahead;
  step.ready.sends.push_back(Hello{.worker = options_.name,
                                   .epoch = options_.epoch,
                                   .devices = std::move(devices),
                                   .credit = draining_ ? 0 : leases + builds,
                                   .evaluator = std::string(kEvaluatorVersion),
                                   .labels = options_.labels,
                                   .backends = options_.backends,
                                   .quarantined = std::move(quarantined),
                                   .builds_for = options_.builds_for});
}

// Sends the outcomes that were not sent yet, and again the outcomes that the broker has not acknowledged in time, in as
// many messages as their sizes need.
void Worker::send_results(Step step) {
  ResultBatch results{.epoch = options_.epoch, .results = {}, .errors = {}};
  MessageSize size;
  const auto send = [&] {
    if (results.results.empty() && results.errors.empty()) return;
    step.ready.sends.push_back(std::exchange(results, {.epoch = options_.epoch, .results = {}, .errors = {}}));
    size = {};
  };
  for (auto& [id, held] : leases_) {
    const std::int64_t resend_ms = held.object ? kObjectResendFactor * options_.resend_ms : options_.resend_ms;
    if (held.phase != Phase::reporting || (held.sent_at_ms != 0 && step.now_ms < held.sent_at_ms + resend_ms)) continue;
    held.sent_at_ms = step.now_ms;
    if (is_build(*held.lease)) {
      step.ready.sends.push_back(BuildResult{.epoch = options_.epoch,
                                             .build = id,
                                             .object = held.object,
                                             .message = held.error.substr(0, kMessageTextMax)});
    } else if (held.result) {
      const MessageSize more = message_size(*held.result);
      if (size.bytes + more.bytes > kResultBatchBytesMax || size.items + more.items > kResultBatchItemsMax) send();
      size.bytes += more.bytes;
      size.items += more.items;
      results.results.push_back({id, *held.result});
    } else {
      results.errors.push_back({id, held.error});
    }
  }
  send();
}

// Returns when the next heartbeat is due: early if a build has become long, or if a build that the last heartbeat named
// has ended and its job goes on.
std::int64_t Worker::heartbeat_due_ms() const {
  std::int64_t due_ms = next_heartbeat_ms_;
  for (const auto& [id, held] : leases_) {
    if (held.phase == Phase::building && !held.is_build_known)
      due_ms = std::min(due_ms, held.build_started_ms + kLongBuildMs);
    if ((held.phase == Phase::waiting_run || held.phase == Phase::running) && held.is_build_known)
      due_ms = std::min(due_ms, last_heartbeat_ms_ + kLongBuildMs);
  }
  return std::min(next_heartbeat_ms_, std::max(due_ms, last_heartbeat_ms_ + kLongBuildMs));
}

void Worker::send_heartbeat(Step step) {
  Heartbeat heartbeat{.epoch = options_.epoch, .leases = {}, .builds = {}, .early = step.now_ms < next_heartbeat_ms_};
  for (auto& [id, held] : leases_) {
    if (held.phase != Phase::stopping) heartbeat.leases.push_back(id);
    held.is_build_known = held.phase == Phase::building;
    if (held.phase != Phase::building) continue;
    const std::int64_t ms = std::max<std::int64_t>(step.now_ms - held.build_started_ms, 0);
    heartbeat.builds.push_back({.lease = id, .ms = static_cast<std::uint32_t>(ms), .extensions = held.is_slow});
  }
  std::ranges::stable_sort(heartbeat.builds, std::greater(), &BuildInProgress::ms);
  if (heartbeat.builds.size() > kHeartbeatBuildsMax) heartbeat.builds.resize(kHeartbeatBuildsMax);
  // An early heartbeat leaves the interval of the others as it is, so that the broker counts missing leases as before.
  if (!heartbeat.early) next_heartbeat_ms_ = step.now_ms + heartbeat_ms_;
  last_heartbeat_ms_ = step.now_ms;
  step.ready.sends.push_back(std::move(heartbeat));
}

std::size_t Worker::count(Phase phase) const {
  return static_cast<std::size_t>(std::count_if(leases_.begin(), leases_.end(),
                                                [phase](const auto& entry) { return entry.second.phase == phase; }));
}

}  // namespace kq::worker
