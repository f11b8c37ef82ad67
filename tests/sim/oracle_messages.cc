// The part of the oracle that checks each message that leaves the broker: replies, leases and builds.
#include <algorithm>

#include "broker/broker.h"
#include "core/codec/codec.h"
#include "store/keys.h"
#include "store/reader.h"
#include "tests/sim/job_text.h"
#include "tests/sim/oracle.h"
#include "tests/sim/workload.h"

namespace kq::sim {

void Oracle::sending(const net::Peer& peer, std::string_view bytes, const store::Store& disk) {
  if (peer.side == net::Side::client) {
    const auto reply = decode_message<ClientReply>(bytes);
    if (!reply) return violated("a reply cannot be decoded: " + reply.error().message);
    if (std::holds_alternative<Done>(reply->body)) switches_.acknowledge(peer, reply->request_id);
    return check_reply(reply->body, disk);
  }
  const auto reply = decode_message<WorkerReply>(bytes);
  if (!reply) return violated("a reply cannot be decoded: " + reply.error().message);
  if (const auto* batch = std::get_if<LeaseBatch>(&reply->body)) {
    for (const Lease& lease : batch->leases) check_lease(peer, lease, disk);
  }
  if (const auto* batch = std::get_if<BuildBatch>(&reply->body)) {
    for (const Lease& build : batch->builds) check_build(peer, build);
  }
  if (const auto* ack = std::get_if<ResultAck>(&reply->body)) {
    for (const LeaseId& lease : ack->leases) {
      const JobRecord* record = job(lease.seq);
      if (record != nullptr && record->state == JobState::leased && record->attempt == lease.attempt) {
        violated("the result of lease " + tag_of(lease) + " was acknowledged but has no effect");
      }
    }
  }
}

void Oracle::check_reply(const ClientReply& reply, const store::Store& disk) {
  if (const auto* ack = std::get_if<SubmitAck>(&reply)) {
    for (const JobAck& one : ack->jobs) {
      if (one.acceptance == Acceptance::refused || one.acceptance == Acceptance::busy) continue;
      const auto record = store::read_job(disk, one.seq);
      if (!record || !*record) violated(text_of(one.seq) + " was acknowledged but is not on disk");
      check_reported_state(one.seq, one.state, "an acknowledgement");
    }
  } else if (const auto* status = std::get_if<StatusReply>(&reply)) {
    for (const JobStatus& one : status->jobs) check_reported_state(one.seq, one.state, "a status");
  } else if (const auto* actions = std::get_if<ActionReply>(&reply)) {
    for (const JobAction& one : actions->jobs) {
      if (one.done) check_reported_state(one.seq, one.state, "an action");
    }
  } else if (const auto* jobs = std::get_if<JobsReply>(&reply)) {
    for (const JobRow& row : jobs->jobs) check_reported_state(row.job.seq, row.job.state, "a row of jobs");
  }
}

// Checks that the job is on disk and was in the reported state at some time of this turn.
void Oracle::check_reported_state(Sequence seq, JobState state, const char* where) {
  const JobRecord* record = job(seq);
  if (record == nullptr && is_removed(seq) && state == JobState::finished) return;
  if (record == nullptr) return violated(std::string(where) + " names " + text_of(seq) + ", which is not on disk");
  if (record->state == state) return;
  const auto turn = turn_.find(seq);
  const bool was = turn != turn_.end() && std::any_of(turn->second.begin(), turn->second.end(),
                                                      [&](const JobRecord& one) { return one.state == state; });
  if (!was) violated(std::string(where) + " says " + std::string(to_string(state)) + " of " + text_of(*record));
}

void Oracle::check_lease(const net::Peer& peer, const Lease& lease, const store::Store& disk) {
  const std::string name = "lease " + tag_of(lease.id);
  const auto record = store::read_job(disk, lease.id.seq);
  // The attempt number on disk never decreases. The job itself may have another state by now, because a Goodbye or a
  // cancellation of the same turn was committed together with the lease.
  if (!record || !*record || (*record)->attempt < lease.id.attempt) {
    return violated(name + " was sent but is not on disk");
  }
  if (!granted_.insert(lease.id).second) violated(name + " was granted twice");
  if (submission_key(lease.submission) != (*record)->key) violated(name + " has another submission");
  const auto worker = workers_.find(peer);
  if (worker == workers_.end()) return violated(name + " was sent to a worker without a Hello");
  const Hello& hello = worker->second;
  const Requirements& needs = (*record)->needs;
  if (std::find(hello.devices.begin(), hello.devices.end(), lease.device) == hello.devices.end() ||
      !serves(lease.device, needs)) {
    violated(name + " names a device that " + hello.worker + " does not have, or that does not meet the requirements");
  }
  if (!std::includes(hello.labels.begin(), hello.labels.end(), needs.labels.begin(), needs.labels.end())) {
    violated(name + " was sent to " + hello.worker + ", which lacks a required label");
  }
  // An artifact of another submission or for another device must never come with a lease.
  if (lease.object) ++object_count_;
  if (lease.object && *lease.object != object_of(lease.submission, lease.device))
    violated(name + " came with the artifact of another job or device");
  if (switches_.is_on(std::string(store::kDrainingPrefix) + hello.worker))
    violated(name + " was sent to a draining worker");
  if (switches_.is_on(std::string(store::kPausedPrefix)) ||
      switches_.is_on(std::string(store::kPausedPrefix) + (*record)->submitter)) {
    violated(name + " was granted although its submitter is paused");
  }
  check_rank(hello, **record, disk);
}

// Checks that the job of a build is queued and not delayed, and that the worker may build it.
void Oracle::check_build(const net::Peer& peer, const Lease& build) {
  const std::string name = "the build of " + text_of(build.id.seq);
  const JobRecord* record = job(build.id.seq);
  if (build.id.attempt != 0) violated(name + " has an attempt number");
  if (record == nullptr || record->state != JobState::queued || is_delayed(*record))
    return violated(name + " was sent although the job is not ready to be leased");
  if (submission_key(build.submission) != record->key) violated(name + " has another submission");
  const auto worker = workers_.find(peer);
  if (worker == workers_.end()) return violated(name + " was sent to a worker without a Hello");
  const Hello& hello = worker->second;
  if (std::find(hello.builds_for.begin(), hello.builds_for.end(), build.device) == hello.builds_for.end())
    violated(name + " is for a device for which " + hello.worker + " does not build");
  if (!std::includes(hello.labels.begin(), hello.labels.end(), record->needs.labels.begin(),
                     record->needs.labels.end())) {
    violated(name + " was sent to " + hello.worker + ", which lacks a required label");
  }
  if (switches_.is_on(std::string(store::kDrainingPrefix) + hello.worker))
    violated(name + " was sent to a draining worker");
  if (is_disk_full_) violated(name + " was sent although the disk has no room for its artifact");
}

// Checks that no queued job that ranks higher and that this worker can run was passed over.
void Oracle::check_rank(const Hello& hello, const JobRecord& leased, const store::Store& disk) {
  if (options_.lane_window.jobs_max < jobs_.size()) return;  // such a job may not be in RAM yet
  const auto runs = [&](const Requirements& needs) {
    const auto on = [&](const DeviceInfo& device) {  // a job that may run on any device may still wait for a GPU
      return serves(device, needs) && (device.kind == DeviceKind::cuda || needs.wish == DeviceWish::cpu);
    };
    const auto& backends = hello.backends;
    return std::any_of(hello.devices.begin(), hello.devices.end(), on) &&
           (backends.empty() || std::find(backends.begin(), backends.end(), needs.backend) != backends.end()) &&
           std::includes(hello.labels.begin(), hello.labels.end(), needs.labels.begin(), needs.labels.end());
  };
  for (const auto& [seq, job] : jobs_) {
    if (turn_.contains(seq)) continue;  // the job may have been queued in this turn after the leases
    if (job.state != JobState::queued || is_delayed(job) || job.priority <= leased.priority || !runs(job.needs))
      continue;
    const std::int64_t head_start_ms =
        broker::Scheduler::kHeadStartMs * (static_cast<int>(job.priority) - static_cast<int>(leased.priority));
    if (job.submitted_at_ms - head_start_ms > leased.submitted_at_ms) continue;
    const auto paused = disk.get(store::Family::meta, std::string(store::kPausedPrefix) + job.submitter);
    if (paused && !*paused) violated(text_of(leased) + " was leased before " + text_of(job) + ", which ranks higher");
  }
}

}  // namespace kq::sim
