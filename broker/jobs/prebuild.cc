#include "broker/jobs/prebuild.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "broker/jobs/lease.h"
#include "broker/jobs/lifecycle.h"
#include "core/codec/codec.h"
#include "store/keys.h"

namespace kq::broker {
namespace {

constexpr std::size_t kLanesSearchedMax = 1'024;  // in one search

std::string text_of(Sequence seq) {
  return "job " + std::to_string(seq);
}

bool is_for(const Builds::Artifact& artifact, const DeviceInfo& device) {
  return artifact.kind == device.kind && artifact.arch == device.arch;
}

// Forgets the build. The builder is not informed.
void forget(State& state, Sequence seq) {
  const auto build = state.builds.in_flight.extract(seq);
  if (build.empty()) return;
  if (Session* builder = state.workers.find(build.mapped().session_id)) {
    builder->builds.erase(seq);
    state.workers.credit_may_have_grown(*builder);
    builder->builds_in_progress.erase({seq, 0});
  }
}

void mark_failed(State& state, Sequence seq) {
  forget(state, seq);
  std::set<Sequence>& failed = state.builds.failed;
  if (failed.size() >= state.options.failed_builds_max) failed.erase(failed.begin());
  failed.insert(seq);
}

// Returns whether jobs with these requirements will run on a device like the target, as far as the connected workers
// show.
bool is_wanted(const State& state, const DeviceInfo& target, const Requirements& needs) {
  bool any_gpu = false;
  bool any_fits = false;
  for (const auto& [id, session] : state.workers.all()) {
    for (const DeviceInfo& device : session.devices) {
      if (device.kind != DeviceKind::cuda) continue;
      any_gpu = any_gpu || serves(device, needs);
      any_fits = any_fits || (serves(device, needs) && device.arch == target.arch);
    }
  }
  if (target.kind == DeviceKind::cpu)
    return needs.gpu_model.empty() && (needs.wish == DeviceWish::cpu || (needs.wish == DeviceWish::any && !any_gpu));
  return any_gpu ? any_fits : needs.wish == DeviceWish::cuda && needs.gpu_model.empty();
}

struct Wanted {
  Sequence seq = 0;
  DeviceInfo target;
};

// The next jobs for this builder: one of each lane in turn, jobs of higher priority first.
std::vector<Wanted> wanted_of(const State& state, const Session& session, std::size_t jobs_max) {
  const Builds& builds = state.builds;
  struct Row {
    Priority priority;
    DeviceInfo target;
    std::vector<Sequence> seqs;  // the next one last
  };
  std::vector<Row> rows;
  std::size_t lane_count = 0;
  std::map<std::uint32_t, std::optional<DeviceInfo>> targets;  // by class
  for (const auto& [id, entry] : state.queue.scheduler().lanes()) {
    if (!entry.listed) continue;  // paused
    const auto [target, is_new] = targets.try_emplace(id.needs);
    if (is_new) {
      const Requirements& needs = *state.queue.scheduler().classes.name(id.needs);
      const auto fits = [&](const DeviceInfo& one) { return is_wanted(state, one, needs); };
      const auto found = std::find_if(session.builds_for.begin(), session.builds_for.end(), fits);
      if (found != session.builds_for.end() && has(session.offer(true), needs)) target->second = *found;
    }
    if (!target->second) continue;
    std::vector<Sequence> seqs = entry.lane.front(state.options.builds_ahead_max);
    std::erase_if(seqs, [&](Sequence seq) {
      return builds.in_flight.contains(seq) || builds.artifacts.contains(seq) || builds.failed.contains(seq);
    });
    if (!seqs.empty()) rows.push_back({id.priority, *target->second, std::move(seqs)});
    if (++lane_count >= kLanesSearchedMax) break;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.priority > b.priority; });
  std::vector<Wanted> wanted;
  for (bool any = true; any && wanted.size() < jobs_max;) {
    any = false;
    for (Row& row : rows) {
      if (row.seqs.empty() || wanted.size() >= jobs_max) continue;
      wanted.push_back({row.seqs.back(), row.target});
      row.seqs.pop_back();
      any = true;
    }
  }
  return wanted;
}

// The number of artifacts for which there is room, if every build in flight results in an artifact of the largest size.
std::size_t room_for_artifacts(const State& state) {
  const Builds& builds = state.builds;
  const std::size_t count = builds.artifacts.size() + builds.in_flight.size();
  const std::size_t bytes = builds.artifact_bytes + builds.in_flight.size() * kObjectBytesMax;
  if (count >= state.options.artifacts_max || bytes >= state.options.artifacts_bytes_max) return 0;
  return std::min(state.options.artifacts_max - count, (state.options.artifacts_bytes_max - bytes) / kObjectBytesMax);
}

Expected<void> dispatch_builds_to(Step& step, Session& session) {
  State& state = step.state;
  const std::size_t most =
      std::min({session.free_credit(), room_for_artifacts(state), state.options.leases_per_step_max});
  BuildBatch batch{.epoch = session.epoch, .builds = {}};
  std::size_t batch_bytes = 0;
  const auto send = [&] {
    if (batch.builds.empty()) return;
    step.ready.send_to_worker(session.peer, 0, std::exchange(batch, BuildBatch{.epoch = session.epoch, .builds = {}}));
    batch_bytes = 0;
  };
  for (const Wanted& wanted : wanted_of(state, session, most)) {
    KQ_TRY_VALUE(auto job, load(step, wanted.seq));
    if (job == nullptr) return our_fault("store: " + text_of(wanted.seq) + " is in family 'queue' and not queued");
    KQ_TRY_VALUE(auto lease, lease_for(step, *job));
    if (!lease) continue;  // the job was abandoned
    lease->id = {wanted.seq, 0};
    lease->device = wanted.target;
    const std::size_t lease_bytes = bytes_of(*lease);
    if (batch_bytes + lease_bytes > state.options.lease_batch_bytes_max) send();
    batch_bytes += lease_bytes;
    batch.builds.push_back(std::move(*lease));
    state.builds.in_flight.emplace(wanted.seq,
                                   Builds::InFlight{.session_id = session.id,
                                                    .target = wanted.target,
                                                    .deadline_ms = step.now_ms + state.options.build_limit_ms});
    session.builds.insert(wanted.seq);
  }
  send();
  return {};
}

std::optional<std::string> validation_error(const BuildObject& object, const DeviceInfo& target) {
  if (object.kind != target.kind || object.arch != target.arch)
    return "it is for another device than the requested one";
  if (object.bytes.size() > kObjectBytesMax)
    return std::to_string(object.bytes.size()) + " bytes, at most " + std::to_string(kObjectBytesMax) + " are taken";
  if (sha256(object.bytes) != object.hash) return "its SHA-256 differs from the one in its header";
  return std::nullopt;
}

void save(Step& step, Sequence seq, BuildObject object) {
  Builds& builds = step.state.builds;
  step.ready.write(store::Family::object, store::sequence_key(seq), encode(object));
  builds.artifacts.emplace(seq, Builds::Artifact{object.kind, object.arch, object.bytes.size()});
  builds.artifact_bytes += object.bytes.size();
  builds.uncommitted.emplace(seq, std::move(object));
}

}  // namespace

Expected<void> recover_builds(State& state) {
  Expected<void> done;
  const auto visit = [&](std::string_view key, std::string_view value) {
    const auto seq = store::sequence_from(key);
    const auto object = decode<BuildObject>(value);
    if (!seq || !object) {
      done = our_fault("store, family 'object': an entry is unreadable");
      return false;
    }
    state.builds.artifacts.emplace(*seq, Builds::Artifact{object->kind, object->arch, object->bytes.size()});
    state.builds.artifact_bytes += object->bytes.size();
    return true;
  };
  KQ_TRY(state.store->scan(store::Family::object, "", "", visit));
  return done;
}

Expected<void> expire_builds(Step& step) {
  step.state.builds.uncommitted.clear();
  std::vector<Sequence> late;
  for (const auto& [seq, build] : step.state.builds.in_flight) {
    if (build.deadline_ms <= step.now_ms) late.push_back(seq);
  }
  for (const Sequence seq : late) {
    step.ready.warn("builds that took too long", text_of(seq) + ": its build took longer than " +
                                                     std::to_string(step.state.options.build_limit_ms) + " ms");
    step.state.metrics.build_ended(BuildEnding::lapsed);
    stop_build(step, seq);
    mark_failed(step.state, seq);
  }
  return {};
}

Expected<void> dispatch_builds(Step& step) {
  State& state = step.state;
  for (const auto& [seq, build] : state.builds.in_flight) step.ready.wake_at(build.deadline_ms);
  if (state.queue.scheduler().empty() || state.switches.paused.contains("") || state.space.nearly_full) return {};
  std::vector<Session*> idle;
  for (Session* session : state.workers.with_free_credit()) {
    if (!session->builds_for.empty() && may_receive_jobs(step, *session)) idle.push_back(session);
  }
  if (idle.empty()) return {};
  if (step.now_ms >= state.builds.next_search_ms) {
    state.builds.next_search_ms = step.now_ms + state.options.build_search_interval_ms;
    for (Session* session : idle) {
      KQ_TRY(dispatch_builds_to(step, *session));
    }
  }
  step.ready.wake_at(state.builds.next_search_ms);
  return {};
}

Expected<void> handle_build_result(Step& step, const std::string& peer, std::uint64_t request_id, BuildResult result) {
  State& state = step.state;
  Session* session = state.workers.find_peer(peer);
  if (session != nullptr && session->epoch != result.epoch) session = nullptr;
  step.ready.send_to_worker(peer, request_id, ResultAck{.leases = {result.build}});
  if (session == nullptr) {
    step.ready.send_to_worker(peer, request_id, Unknown{});
    return {};
  }
  session->last_seen_ms = step.now_ms;
  state.builds.next_search_ms = 0;  // the builder has room for another job
  const Sequence seq = result.build.seq;
  if (result.build.attempt != 0 || !session->builds.contains(seq)) return {};  // the build was dropped
  const auto error = result.object ? validation_error(*result.object, state.builds.in_flight.at(seq).target)
                                   : std::optional(result.message);
  if (error) {
    std::string text = text_of(seq) + ": no object of " + session->worker + ": " + *error;
    if (result.object) {
      step.ready.warn("objects of " + session->worker, std::move(text));
    } else {
      step.ready.note(NoteLevel::debug, std::move(text));
    }
    state.metrics.build_ended(BuildEnding::declined);
    mark_failed(state, seq);
    return {};
  }
  forget(state, seq);
  if (state.space.nearly_full) return {};
  save(step, seq, std::move(*result.object));
  session->built_count += 1;
  state.metrics.build_ended(BuildEnding::taken);
  return {};
}

void update_listed_builds(Step& step, Session& session, const std::set<Sequence>& listed) {
  for (const Sequence seq : std::set(session.builds)) {
    Builds::InFlight& build = step.state.builds.in_flight.at(seq);
    build.heartbeats_missed = listed.contains(seq) ? 0 : build.heartbeats_missed + 1;
    if (build.heartbeats_missed >= step.state.options.heartbeats_missed_max)
      forget(step.state, seq);  // the builder never received it
  }
}

void return_build(Step& step, Session& session, Sequence seq) {
  if (session.builds.contains(seq)) forget(step.state, seq);
}

void return_builds(Step& step, Session& session) {
  for (const Sequence seq : std::set(session.builds)) forget(step.state, seq);
}

void fail_builds(Step& step, Session& session) {
  for (const Sequence seq : std::set(session.builds)) {
    step.state.metrics.build_ended(BuildEnding::lapsed);
    mark_failed(step.state, seq);
  }
}

Expected<std::optional<BuildObject>> artifact_for(Step& step, Sequence seq, const DeviceInfo& device) {
  const Builds& builds = step.state.builds;
  const auto found = builds.artifacts.find(seq);
  if (found == builds.artifacts.end() || !is_for(found->second, device)) return std::nullopt;
  if (const auto own = builds.uncommitted.find(seq); own != builds.uncommitted.end()) return own->second;
  KQ_TRY_VALUE(const auto bytes, step.state.store->get(store::Family::object, store::sequence_key(seq)));
  auto object = bytes ? decode<BuildObject>(*bytes) : Expected<BuildObject>(our_fault("the store has lost it"));
  if (object) return std::optional(std::move(*object));
  step.ready.warn("objects that cannot be read",
                  text_of(seq) + ": its object cannot be read: " + object.error().message);
  return std::nullopt;  // the worker that runs the job builds it
}

void stop_build(Step& step, Sequence seq) {
  const auto build = step.state.builds.in_flight.find(seq);
  if (build == step.state.builds.in_flight.end()) return;
  if (const Session* builder = step.state.workers.find(build->second.session_id)) {
    step.ready.send_to_worker(builder->peer, 0, Revoke{.leases = {{seq, 0}}});
  }
  forget(step.state, seq);
}

void drop_build(Step& step, Sequence seq) {
  Builds& builds = step.state.builds;
  stop_build(step, seq);
  builds.failed.erase(seq);
  builds.uncommitted.erase(seq);
  const auto artifact = builds.artifacts.extract(seq);
  if (artifact.empty()) return;
  builds.artifact_bytes -= artifact.mapped().bytes;
  step.ready.erase(store::Family::object, store::sequence_key(seq));
}

}  // namespace kq::broker
