#include "tests/sim/model_worker.h"

#include <utility>

#include "core/codec.h"
#include "tests/sim/oracle.h"

namespace kq::sim {
namespace {

Peer peer_of(const std::string& name, std::uint64_t connection) {
  return {Side::worker, name + "." + std::to_string(connection)};
}

// What a submission comes to is decided by its source, so that attempts agree; how fast it was, is not.
VerdictName verdict_of(const std::string& source, const DeviceInfo& device) {
  switch (sha256(source).bytes[0] % 8) {
    case 0:
      return VerdictName::wrong_answer;
    case 1:
      return VerdictName::build_failed;
    case 2:
      return device.kind == DeviceKind::cpu ? VerdictName::compiled_only : VerdictName::passed;
    case 3:
      return device.memory_bytes < 100 ? VerdictName::too_large : VerdictName::passed;
    case 4:
      return VerdictName::expired;
    default:
      return VerdictName::passed;
  }
}

}  // namespace

ModelWorker::ModelWorker(Timeline& timeline, Random& random, Network& network, WorkerTraits traits)
    : timeline_(timeline), random_(random), network_(network), traits_(std::move(traits)) {}

void ModelWorker::start() {
  if (is_up_) return;
  is_up_ = true;
  epoch_ = random_.next();
  frozen_until_ms_ = 0;
  is_welcome_ = false;
  connect();
  tick();
}

void ModelWorker::crash() {
  if (!is_up_) return;
  is_up_ = false;
  epoch_ = 0;
  network_.detach(peer_of(traits_.name, connections_n_));
  held_.clear();
}

void ModelWorker::leave() {
  if (!is_up_) return;
  send(Goodbye{epoch_});
  crash();
}

void ModelWorker::reconnect() {
  if (!is_up_) return;
  network_.detach(peer_of(traits_.name, connections_n_));
  connect();
}

void ModelWorker::freeze(std::int64_t ms) {
  frozen_until_ms_ = timeline_.now_ms() + ms;
}

void ModelWorker::connect() {
  ++connections_n_;
  network_.attach(peer_of(traits_.name, connections_n_),
                  [this](std::string bytes) { after(0, [this, bytes = std::move(bytes)] { receive(bytes); }); });
}

void ModelWorker::after(std::int64_t ms, std::function<void()> action) {
  timeline_.after(ms, [this, action = std::move(action), epoch = epoch_] {
    if (!is_up_ || epoch != epoch_) return;
    if (timeline_.now_ms() < frozen_until_ms_) return after(frozen_until_ms_ - timeline_.now_ms(), action);
    action();
  });
}

void ModelWorker::receive(const std::string& bytes) {
  auto message = decode_message<WorkerReply>(bytes);
  if (!message) return;
  if (const auto* welcome = std::get_if<Welcome>(&message->body)) {
    is_welcome_ = true;
    heartbeat_ms_ = welcome->heartbeat_ms;
    next_heartbeat_ms_ = timeline_.now_ms();
  } else if (auto* batch = std::get_if<LeaseBatch>(&message->body)) {
    take(std::move(*batch));
  } else if (const auto* ack = std::get_if<ResultAck>(&message->body)) {
    for (const LeaseId& lease : ack->leases) {
      const auto place = held_.find(lease);
      if (place != held_.end() && (place->second.result || place->second.error)) held_.erase(place);
    }
  } else if (std::holds_alternative<Unknown>(message->body)) {
    is_welcome_ = false;
  }
}

void ModelWorker::take(LeaseBatch batch) {
  if (batch.epoch != epoch_) return;
  for (Lease& lease : batch.leases) {
    const LeaseId id = lease.id;
    if (!held_.emplace(id, Held{std::move(lease), std::nullopt, std::nullopt, 0}).second) continue;
    after(random_.between(1, traits_.run_ms_max), [this, id] { finish(id); });
  }
}

void ModelWorker::finish(const LeaseId& id) {
  Held& held = held_.at(id);
  if (held.lease.blobs.empty()) return;
  const std::string& label = held.lease.submission.label;
  if (label.find(kPoison) != std::string::npos) {
    crash();
    timeline_.after(random_.between(0, down_ms_max), [this] { start(); });
    return;
  }
  if (random_.chance(error_chance)) {
    held.error = AttemptError{id, "no disk"};
  } else {
    held.result = AttemptResult{id, result_of(held.lease)};
  }
  send_results();
}

Result ModelWorker::result_of(const Lease& lease) {
  const VerdictName verdict = verdict_of(to_hex(lease.submission.files[0].hash), lease.device);
  Result result;
  result.device = lease.device;
  result.worker = traits_.name;
  result.log = tag_of(lease.id);
  if (verdict == VerdictName::passed) {
    Measurement measurement;
    measurement.submission.samples_n = static_cast<std::uint32_t>(random_.between(0, 3));  // untimed ones take no place
    measurement.submission.median_ns = static_cast<double>(random_.between(1, 50));
    result.verdict = Passed{measurement, {}};
    result.samples.submission_ns = {1, 2, 3};
  } else {
    result.verdict = ended(verdict, {});
  }
  return result;
}

void ModelWorker::tick() {
  if (!is_welcome_) {
    send(Hello{.worker = traits_.name,
               .epoch = epoch_,
               .devices = traits_.devices,
               .credit = traits_.credit,
               .evaluator = std::string(kEvaluatorVersion)});
  } else if (timeline_.now_ms() >= next_heartbeat_ms_) {
    next_heartbeat_ms_ = timeline_.now_ms() + heartbeat_ms_;
    Heartbeat heartbeat{.epoch = epoch_, .leases = {}};
    for (const auto& [id, held] : held_) heartbeat.leases.push_back(id);
    send(std::move(heartbeat));
  }
  send_results();
  after(traits_.resend_ms / 2, [this] { tick(); });
}

void ModelWorker::send_results() {
  ResultBatch batch{.epoch = epoch_, .results = {}, .errors = {}};
  for (auto& [id, held] : held_) {
    if (!held.result && !held.error) continue;
    if (held.sent_at_ms != 0 && timeline_.now_ms() < held.sent_at_ms + traits_.resend_ms) continue;
    held.sent_at_ms = timeline_.now_ms();
    if (held.result) batch.results.push_back(*held.result);
    if (held.error) batch.errors.push_back(*held.error);
  }
  if (!batch.results.empty() || !batch.errors.empty()) send(std::move(batch));
}

void ModelWorker::send(WorkerRequest request) {
  network_.to_broker(peer_of(traits_.name, connections_n_),
                     encode_message(Message<WorkerRequest>{++requests_n_, std::move(request)}));
}

}  // namespace kq::sim
