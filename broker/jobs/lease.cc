#include "broker/jobs/lease.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "broker/jobs/lifecycle.h"
#include "broker/jobs/prebuild.h"
#include "broker/jobs/read_ahead.h"
#include "core/base/check.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

// A worker that missed this many heartbeats is probably gone. It gets no new jobs, but its results still count.
constexpr std::int64_t kQuietHeartbeats = 3;

constexpr std::size_t kReadAheadJobs = 64;

// The leases for one worker, in several messages if their blobs are large.
struct OutgoingBatches {
  std::vector<LeaseBatch> batches;
  std::size_t last_bytes = 0;
};

Expected<std::optional<Lease>> abandon_instead(Step& step, const Job& job, const std::string& message) {
  KQ_TRY(abandon(step, job, message));
  return std::optional<Lease>();
}

// Turns free credit of workers into outgoing batches of leases, at the end of one turn.
class Dispatcher {
 public:
  explicit Dispatcher(Step& step) : step_(step), state_(step.state) {}

  Expected<void> run() {
    if (state_.switches.paused.contains("") || state_.queue.scheduler().empty()) return {};
    std::vector<Session*> sessions = with_credit();
    for (const Session* session : sessions) credit_ += session->free_credit();
    // Workers with a GPU for which no job is left. Then workers without one may have the jobs for any device.
    std::set<const Session*> done;
    // One lease to each worker in turn, the least busy first, so that few jobs spread over many workers.
    for (bool any = true; any && !state_.queue.scheduler().empty();) {
      any = false;
      std::erase_if(sessions, [&](const Session* session) {
        return !may_receive_jobs(step_, *session) || done.contains(session);
      });
      a_gpu_is_free_ =
          std::any_of(sessions.begin(), sessions.end(), [](const Session* session) { return session->has_gpu(); });
      for (Session* session : sessions) {
        if (granted_count_ >= state_.options.leases_per_step_max) break;
        KQ_TRY_VALUE(auto granted, grant_one(*session));
        if (!granted && session->has_gpu()) done.insert(session);
        any = any || granted || done.contains(session);
      }
      if (granted_count_ >= state_.options.leases_per_step_max) {
        step_.ready.wake_at(step_.now_ms);
        break;
      }
    }
    send();
    return {};
  }

 private:
  std::vector<Session*> with_credit() {
    std::vector<Session*> sessions = state_.workers.with_free_credit();
    std::erase_if(sessions, [&](const Session* session) {
      return !session->builds_for.empty() || !may_receive_jobs(step_, *session);
    });
    std::stable_sort(sessions.begin(), sessions.end(),
                     [](const Session* a, const Session* b) { return a->leases.size() < b->leases.size(); });
    return sessions;
  }

  // Leases one job to the worker. Returns false if there is no job for it.
  Expected<bool> grant_one(Session& session) {
    const Offer offer = session.offer(!a_gpu_is_free_);
    const auto place = choose_next(step_, offer, [&](const Requirements& needs) {
      const auto device = next_device(session, offer, needs);
      return device ? state_.workers.warmth(session, *device) : Warmth{};
    });
    if (!place) return false;
    ++granted_count_;
    if (state_.queue.jobs().find(place->seq) == nullptr) {
      const std::size_t more = std::min(
          {kReadAheadJobs, credit_ - granted_count_ + 1, state_.options.leases_per_step_max - granted_count_ + 1});
      KQ_TRY(read_ahead(step_, place->lane, more));
    }
    KQ_TRY_VALUE(auto found, load(step_, place->seq));
    if (found == nullptr)
      return our_fault("store: job " + std::to_string(place->seq) + " is in family 'queue' and not queued");
    const Job& job = *found;
    // The deadline has passed, but its timer has not fired: more timers were due than one Tick fires.
    if (job.record.leased_at_ms == 0 && job.record.deadline_ms != 0 && job.record.deadline_ms <= step_.now_ms) {
      KQ_TRY(expire_queued(step_, job));
      return true;
    }
    KQ_TRY_VALUE(auto lease, lease_for(step_, job));
    if (!lease) return true;  // the job was abandoned; there may be others
    const auto device = next_device(session, offer, job.record.needs);
    KQ_CHECK(device.has_value());
    KQ_TRY_VALUE(auto object, artifact_for(step_, job.record.seq, session.devices[*device]));
    lease->object = std::move(object);
    grant_lease(step_, job, session, *device);
    lease->id = {job.record.seq, job.record.attempt};
    lease->device = session.devices[*device];
    pack(session, std::move(*lease));
    return true;
  }

  // Returns the index of the session's device for a job: of the devices that fit, a GPU before the CPU, then the one
  // with the fewest leases.
  std::optional<std::size_t> next_device(const Session& session, const Offer& offer, const Requirements& needs) const {
    if (session.devices.size() == 1)
      return fits(offer, session.devices[0], needs) ? std::optional<std::size_t>(0) : std::nullopt;
    const auto cost = [&](const DeviceInfo& device) {
      const auto leases = std::ranges::count_if(
          session.leases, [&](Sequence seq) { return state_.queue.jobs().find(seq)->lease->device == device; });
      return std::pair(device.kind == DeviceKind::cpu, leases);
    };
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < session.devices.size(); ++i) {
      if (fits(offer, session.devices[i], needs) && (!best || cost(session.devices[i]) < cost(session.devices[*best])))
        best = i;
    }
    return best;
  }

  void pack(const Session& session, Lease lease) {
    OutgoingBatches& outgoing = outgoing_[session.id];
    const std::size_t bytes = bytes_of(lease);
    if (outgoing.batches.empty() || outgoing.last_bytes + bytes > state_.options.lease_batch_bytes_max) {
      outgoing.batches.push_back({.epoch = session.epoch, .leases = {}});
      outgoing.last_bytes = 0;
    }
    outgoing.batches.back().leases.push_back(std::move(lease));
    outgoing.last_bytes += bytes;
  }

  void send() {
    for (auto& [id, outgoing] : outgoing_) {
      const std::string& peer = state_.workers.find(id)->peer;
      for (LeaseBatch& batch : outgoing.batches) step_.ready.send_to_worker(peer, 0, std::move(batch));
    }
  }

  Step& step_;
  State& state_;
  std::map<SessionId, OutgoingBatches> outgoing_;
  std::size_t credit_ = 0;  // of all workers, before the first lease
  std::size_t granted_count_ = 0;
  bool a_gpu_is_free_ = false;  // then a CPU gets no job that runs on any device
};

// Refills the window of one lane.
Expected<void> refill(Step& step, const store::LaneId& id) {
  const Lane& lane = *step.state.queue.scheduler().find(id);
  const LaneWindow& window = step.state.options.lane_window;
  std::vector<Lane::QueuedJob> more;
  bool exhausted = true;
  bool well_formed = true;
  const auto visit = [&](std::string_view key, std::string_view value) {
    if (more.size() >= window.jobs_max - window.jobs_min) {
      exhausted = false;
      return false;
    }
    const auto place = store::queue_place_from(key);
    const auto entry = store::queue_entry_from(value);
    well_formed = place && entry;
    if (!well_formed) return false;
    if (!entry->leased)
      more.push_back({.seq = place->seq, .problem = entry->problem, .submitted_at_ms = entry->submitted_at_ms});
    return true;
  };
  auto scanned = step.state.store->scan(store::Family::queue, store::queue_key(id, lane.window_end()),
                                        store::queue_end(id), visit);
  if (!scanned) return scanned;
  if (!well_formed) return our_fault("store, family 'queue': an entry is unreadable");
  refill_lane(step, id, more, exhausted);
  return {};
}

}  // namespace

Expected<void> refill_windows(Step& step) {
  const std::set<store::LaneId> lanes = step.state.queue.scheduler().lanes_to_refill();
  std::size_t refilled_count = 0;
  for (const store::LaneId& id : lanes) {
    if (refilled_count++ >= step.state.options.refills_per_step_max) {
      step.ready.wake_at(step.now_ms);
      break;
    }
    KQ_TRY(refill(step, id));
  }
  return {};
}

bool may_receive_jobs(const Step& step, const Session& session) {
  const State& state = step.state;
  const std::int64_t quiet_ms = kQuietHeartbeats * state.options.heartbeat_ms;
  return session.free_credit() > 0 && session.last_seen_ms + quiet_ms > step.now_ms &&
         session.backs_off_until_ms <= step.now_ms && !state.switches.draining.contains(session.worker);
}

Expected<std::optional<Lease>> lease_for(Step& step, const Job& job) {
  KQ_TRY_VALUE(const auto submission, submission_of(step, job));
  if (submission == nullptr) return abandon_instead(step, job, "the store has lost its submission");
  Lease lease{.id = {}, .run = job.record.run, .submission = evaluated_part(*submission), .blobs = {}, .device = {}};
  std::vector<Hash> hashes{lease.submission.problem.hash};
  for (const SourceFile& file : lease.submission.files) hashes.push_back(file.hash);
  std::ranges::sort(hashes);
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  lease.blobs.reserve(hashes.size());
  for (const Hash& hash : hashes) {
    KQ_TRY_VALUE(auto blob, step.state.blobs.find(*step.state.store, hash));
    if (blob == nullptr) return abandon_instead(step, job, "the store has lost the file with SHA-256 " + to_hex(hash));
    lease.blobs.push_back(*blob);
  }
  return std::optional(std::move(lease));
}

std::size_t bytes_of(const Lease& lease) {
  std::size_t bytes = lease.object ? lease.object->bytes.size() : 0;
  for (const Blob& blob : lease.blobs) bytes += blob.bytes.size();
  return bytes;
}

Expected<void> expire_leases(Step& step) {
  for (const Sequence seq : step.state.queue.jobs().lapsed(step.now_ms)) {
    const Job& job = *step.state.queue.jobs().find(seq);
    if (!job.lease->lapse_is_failure) {
      requeue(step, job, "no worker listed its lease after the broker's restart");
      continue;
    }
    step.state.metrics.lapsed();
    const std::string message = "worker " + job.lease->worker + " was silent for longer than its lease of " +
                                std::to_string(step.state.options.lease_ms) + " ms";
    KQ_TRY(fail(step, job, message));
  }
  return {};
}

Expected<void> dispatch(Step& step) {
  KQ_TRY(Dispatcher(step).run());
  // The turn ends here, so the next wake-up can be computed.
  if (!step.state.queue.scheduler().lanes_to_refill().empty()) step.ready.wake_at(step.now_ms);
  if (const auto next = step.state.queue.jobs().next_deadline_ms()) step.ready.wake_at(*next);
  if (const auto next = step.state.queue.timers().next_ms()) step.ready.wake_at(*next);
  if (step.state.workers.size() != 0) step.ready.wake_at(step.state.workers.silence_check_ms());
  if (step.state.queue.scheduler().empty()) return {};
  for (const Session* session : step.state.workers.with_free_credit()) {
    if (session->backs_off_until_ms > step.now_ms) step.ready.wake_at(session->backs_off_until_ms);
  }
  return {};
}

}  // namespace kq::broker
