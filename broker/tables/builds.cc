#include "broker/tables/builds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "broker/core/state.h"
#include "broker/jobs/lease.h"
#include "broker/jobs/lifecycle.h"
#include "core/codec/codec.h"
#include "store/keys.h"

namespace kq::broker {
namespace {

constexpr std::size_t kLanesLookedAt = 1'024;  // in one look

std::string text_of(Sequence seq) {
  return "job " + std::to_string(seq);
}

bool is_for(const Builds::Object& object, const DeviceInfo& device) {
  return object.kind == device.kind && object.arch == device.arch;
}

// The build is no longer waited for; its builder is not told.
void drop(State& state, Sequence seq) {
  const auto going = state.builds.going.extract(seq);
  if (going.empty()) return;
  if (Session* holder = state.workers.find(going.mapped().holder)) holder->builds.erase(seq);
}

void decline(State& state, Sequence seq) {
  drop(state, seq);
  std::set<Sequence>& declined = state.builds.declined;
  if (declined.size() >= state.options.builds_declined_max) declined.erase(declined.begin());
  declined.insert(seq);
}

// Whether such jobs will run on a device like the target, as far as can be known from who is connected.
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

// The next jobs for this builder, at most so many: one of each lane in turn, jobs of higher priority first.
std::vector<Wanted> wanted_of(const State& state, const Session& session, std::size_t jobs_max) {
  const Builds& builds = state.builds;
  struct Row {
    Priority priority;
    DeviceInfo target;
    std::vector<Sequence> seqs;  // the next one last
  };
  std::vector<Row> rows;
  std::size_t lanes_n = 0;
  std::map<std::uint32_t, std::optional<DeviceInfo>> targets;  // by class
  for (const auto& [id, entry] : state.scheduler.lanes()) {
    if (!entry.listed) continue;  // paused
    const auto [target, is_new] = targets.try_emplace(id.needs);
    if (is_new) {
      const Requirements& needs = *state.scheduler.classes.name(id.needs);
      const auto fits = [&](const DeviceInfo& one) { return is_wanted(state, one, needs); };
      const auto found = std::find_if(session.builds_for.begin(), session.builds_for.end(), fits);
      if (found != session.builds_for.end() && has(session.offer(true), needs)) target->second = *found;
    }
    if (!target->second) continue;
    std::vector<Sequence> seqs = entry.lane.front(state.options.builds_ahead_max);
    std::erase_if(seqs, [&](Sequence seq) {
      return builds.going.contains(seq) || builds.objects.contains(seq) || builds.declined.contains(seq);
    });
    if (!seqs.empty()) rows.push_back({id.priority, *target->second, std::move(seqs)});
    if (++lanes_n >= kLanesLookedAt) break;
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

// As if every object that is being built came as large as one may be.
std::size_t room_for_objects(const State& state) {
  const Builds& builds = state.builds;
  const std::size_t n = builds.objects.size() + builds.going.size();
  const std::size_t bytes_n = builds.bytes_n + builds.going.size() * kObjectBytesMax;
  if (n >= state.options.objects_max || bytes_n >= state.options.objects_bytes_max) return 0;
  return std::min(state.options.objects_max - n, (state.options.objects_bytes_max - bytes_n) / kObjectBytesMax);
}

Expected<void> hand_out_to(Step& step, Session& session) {
  State& state = step.state;
  const std::size_t most =
      std::min({session.free_credit(), room_for_objects(state), state.options.leases_per_step_max});
  BuildBatch batch{.epoch = session.epoch, .builds = {}};
  std::size_t bytes_n = 0;
  const auto send = [&] {
    if (batch.builds.empty()) return;
    step.ready.send_to_worker(session.peer, 0, std::exchange(batch, BuildBatch{.epoch = session.epoch, .builds = {}}));
    bytes_n = 0;
  };
  for (const Wanted& wanted : wanted_of(state, session, most)) {
    KQ_TRY_VALUE(auto job, load(step, wanted.seq));
    if (job == nullptr) return our_fault("store: " + text_of(wanted.seq) + " is in family 'queue' and not queued");
    KQ_TRY_VALUE(auto lease, lease_for(step, *job));
    if (!lease) continue;  // it was abandoned
    lease->id = {wanted.seq, 0};
    lease->device = wanted.target;
    const std::size_t lease_bytes_n = bytes_of(*lease);
    if (bytes_n + lease_bytes_n > state.options.lease_batch_bytes_max) send();
    bytes_n += lease_bytes_n;
    batch.builds.push_back(std::move(*lease));
    state.builds.going.emplace(wanted.seq, Builds::Going{.holder = session.id,
                                                         .target = wanted.target,
                                                         .deadline_ms = step.now_ms + state.options.build_limit_ms});
    session.builds.insert(wanted.seq);
  }
  send();
  return {};
}

std::optional<std::string> complaint_about(const BuildObject& object, const DeviceInfo& target) {
  if (object.kind != target.kind || object.arch != target.arch) return "it is for another device than was asked for";
  if (object.bytes.size() > kObjectBytesMax)
    return std::to_string(object.bytes.size()) + " bytes, at most " + std::to_string(kObjectBytesMax) + " are taken";
  if (sha256(object.bytes) != object.hash) return "its SHA-256 is not what it says";
  return std::nullopt;
}

void keep(Step& step, Sequence seq, BuildObject object) {
  Builds& builds = step.state.builds;
  step.ready.write(store::Family::object, store::sequence_key(seq), encode(object));
  builds.objects.emplace(seq, Builds::Object{object.kind, object.arch, object.bytes.size()});
  builds.bytes_n += object.bytes.size();
  builds.fresh.emplace(seq, std::move(object));
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
    state.builds.objects.emplace(*seq, Builds::Object{object->kind, object->arch, object->bytes.size()});
    state.builds.bytes_n += object->bytes.size();
    return true;
  };
  if (auto scanned = state.store->scan(store::Family::object, "", "", visit); !scanned) return scanned;
  return done;
}

Expected<void> expire_builds(Step& step) {
  step.state.builds.fresh.clear();
  std::vector<Sequence> late;
  for (const auto& [seq, going] : step.state.builds.going) {
    if (going.deadline_ms <= step.now_ms) late.push_back(seq);
  }
  for (const Sequence seq : late) {
    step.ready.warn("builds that took too long", text_of(seq) + ": its build took longer than " +
                                                     std::to_string(step.state.options.build_limit_ms) + " ms");
    step.state.metrics.build_ended(BuildEnding::lapsed);
    stop_build(step, seq);
    decline(step.state, seq);
  }
  return {};
}

Expected<void> hand_out_builds(Step& step) {
  State& state = step.state;
  for (const auto& [seq, going] : state.builds.going) step.ready.wake_at(going.deadline_ms);
  if (state.scheduler.empty() || state.paused.contains("") || state.space.nearly_full) return {};
  std::vector<Session*> idle;
  for (auto& [id, session] : state.workers.all()) {
    if (!session.builds_for.empty() && has_room(step, session)) idle.push_back(&session);
  }
  if (idle.empty()) return {};
  if (step.now_ms >= state.builds.look_at_ms) {
    state.builds.look_at_ms = step.now_ms + state.options.builds_look_ms;
    for (Session* session : idle) {
      if (auto done = hand_out_to(step, *session); !done) return done;
    }
  }
  step.ready.wake_at(state.builds.look_at_ms);
  return {};
}

Expected<void> take_build(Step& step, const std::string& peer, std::uint64_t request_id, BuildResult result) {
  State& state = step.state;
  Session* session = state.workers.find_peer(peer);
  if (session != nullptr && session->epoch != result.epoch) session = nullptr;
  step.ready.send_to_worker(peer, request_id, ResultAck{.leases = {result.build}});
  if (session == nullptr) {
    step.ready.send_to_worker(peer, request_id, Unknown{});
    return {};
  }
  session->last_seen_ms = step.now_ms;
  state.builds.look_at_ms = 0;  // there is room for another
  const Sequence seq = result.build.seq;
  if (result.build.attempt != 0 || !session->builds.contains(seq)) return {};  // nobody waits for it
  const auto complaint = result.object ? complaint_about(*result.object, state.builds.going.at(seq).target)
                                       : std::optional(result.message);
  if (complaint) {
    std::string text = text_of(seq) + ": no object of " + session->worker + ": " + *complaint;
    if (result.object) {
      step.ready.warn("objects of " + session->worker, std::move(text));
    } else {
      step.ready.note(NoteLevel::debug, std::move(text));
    }
    state.metrics.build_ended(BuildEnding::declined);
    decline(state, seq);
    return {};
  }
  drop(state, seq);
  if (state.space.nearly_full) return {};
  keep(step, seq, std::move(*result.object));
  session->built_n += 1;
  state.metrics.build_ended(BuildEnding::taken);
  return {};
}

void keep_builds(Step& step, Session& session, const std::set<Sequence>& listed) {
  for (const Sequence seq : std::set(session.builds)) {
    Builds::Going& going = step.state.builds.going.at(seq);
    going.heartbeats_missed = listed.contains(seq) ? 0 : going.heartbeats_missed + 1;
    if (going.heartbeats_missed >= step.state.options.heartbeats_missed_max) drop(step.state, seq);  // it never arrived
  }
}

void give_build_back(Step& step, Session& session, Sequence seq) {
  if (session.builds.contains(seq)) drop(step.state, seq);
}

void give_builds_back(Step& step, Session& session) {
  for (const Sequence seq : std::set(session.builds)) drop(step.state, seq);
}

void decline_builds(Step& step, Session& session) {
  for (const Sequence seq : std::set(session.builds)) {
    step.state.metrics.build_ended(BuildEnding::lapsed);
    decline(step.state, seq);
  }
}

Expected<std::optional<BuildObject>> object_for(Step& step, Sequence seq, const DeviceInfo& device) {
  const Builds& builds = step.state.builds;
  const auto found = builds.objects.find(seq);
  if (found == builds.objects.end() || !is_for(found->second, device)) return std::nullopt;
  if (const auto fresh = builds.fresh.find(seq); fresh != builds.fresh.end()) return fresh->second;
  KQ_TRY_VALUE(const auto bytes, step.state.store->get(store::Family::object, store::sequence_key(seq)));
  auto object = bytes ? decode<BuildObject>(*bytes) : Expected<BuildObject>(our_fault("it is gone"));
  if (object) return std::optional(std::move(*object));
  step.ready.warn("objects that cannot be read", text_of(seq) + ": its object cannot be read: " +
                                                     object.error().message);  // it is built where it runs
  return std::nullopt;
}

void stop_build(Step& step, Sequence seq) {
  const auto going = step.state.builds.going.find(seq);
  if (going == step.state.builds.going.end()) return;
  if (const Session* holder = step.state.workers.find(going->second.holder)) {
    step.ready.send_to_worker(holder->peer, 0, Revoke{.leases = {{seq, 0}}});
  }
  drop(step.state, seq);
}

void forget_build(Step& step, Sequence seq) {
  Builds& builds = step.state.builds;
  stop_build(step, seq);
  builds.declined.erase(seq);
  builds.fresh.erase(seq);
  const auto object = builds.objects.extract(seq);
  if (object.empty()) return;
  builds.bytes_n -= object.mapped().bytes_n;
  step.ready.erase(store::Family::object, store::sequence_key(seq));
}

}  // namespace kq::broker
