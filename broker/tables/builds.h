// Builds that workers without a device make for jobs that wait: who makes which, and what came of them.
//
// No job needs one. It is leased when its turn comes, with its object if there is one by then; else whoever runs it
// builds it, and what is being built elsewhere is stopped. So nothing here is ever waited for, and all of it may be
// lost. A job is offered once: if nothing comes of its build, if its builder falls silent or takes too long, its own
// worker says what is wrong with it. A builder that leaves gives its builds back.
//
// Built are, of each lane, the first `builds_ahead_max` jobs, the last of them first: those at the head would be leased
// before they were done.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "broker/tables/worker_pool.h"
#include "core/base/error.h"
#include "core/messages.h"

namespace kq::broker {

struct State;
struct Step;

struct Builds {
  struct Going {
    SessionId holder = kNobody;
    DeviceInfo target;
    std::int64_t deadline_ms = 0;
    std::uint32_t heartbeats_missed = 0;
  };
  struct Object {
    DeviceKind kind = DeviceKind::cuda;
    std::string arch;
    std::size_t bytes_n = 0;
  };

  std::map<Sequence, Going> going{};        // of queued jobs
  std::map<Sequence, Object> objects{};     // of unfinished jobs: those in family `object`,
  std::map<Sequence, BuildObject> fresh{};  // or among the writes of this turn
  std::set<Sequence> declined{};            // nothing came of their build
  std::size_t bytes_n = 0;                  // of all objects
  std::int64_t look_at_ms = 0;              // for jobs to build
};

// At a restart: what is in the store.
Expected<void> recover_builds(State& state);

// A turn begins: what was built is on disk, and builds that take too long are no longer waited for.
Expected<void> expire_builds(Step& step);
// A turn ends: what was not leased may be built.
Expected<void> hand_out_builds(Step& step);

Expected<void> take_build(Step& step, const std::string& peer, std::uint64_t request_id, BuildResult result);

// A heartbeat listed these of the session's builds.
void keep_builds(Step& step, Session& session, const std::set<Sequence>& listed);
// The session goes. What it gives back, or never had, may be built by another.
void give_builds_back(Step& step, Session& session);
void give_build_back(Step& step, Session& session, Sequence seq);
void decline_builds(Step& step, Session& session);

// What was built of the job for such a device.
Expected<std::optional<BuildObject>> object_for(Step& step, Sequence seq, const DeviceInfo& device);
// The job is leased: whoever runs it builds it.
void stop_build(Step& step, Sequence seq);
// The job has ended.
void forget_build(Step& step, Sequence seq);

}  // namespace kq::broker
