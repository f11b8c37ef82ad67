// Prebuilding: workers without a device (builders) build queued jobs in advance.
//
// No job depends on a prebuild. A job is leased when its turn comes, with its artifact if there is one by then. If not,
// the worker that runs the job builds it, and a build that is in flight elsewhere is stopped. So nothing here is ever
// waited for, and all of it may be lost. A job is offered to one builder only: if its build fails, if the builder falls
// silent or takes too long, the worker that runs the job reports what is wrong with it. A builder that leaves in order
// returns its builds, and other builders get them.
//
// Of each lane the first `builds_ahead_max` jobs are built, the last of them first: those at the head would be leased
// before they were built.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "broker/core/step.h"

namespace kq::broker {

// Reads the artifacts in the store, at a restart.
Expected<void> recover_builds(State& state);

// Begins a turn: the artifacts of earlier turns are on disk, and builds that took too long are stopped.
Expected<void> expire_builds(Step& step);
// Ends a turn: sends jobs that were not leased to builders.
Expected<void> dispatch_builds(Step& step);

Expected<void> handle_build_result(Step& step, const std::string& peer, std::uint64_t request_id, BuildResult result);

// Counts missed heartbeats of the session's builds; `listed` are the builds that its heartbeat lists.
void update_listed_builds(Step& step, Session& session, const std::set<Sequence>& listed);
// Makes builds of a session available to other builders, because the session returned or never received them.
void return_builds(Step& step, Session& session);
void return_build(Step& step, Session& session, Sequence seq);
// Marks all builds of a session that ended as failed.
void fail_builds(Step& step, Session& session);

// Returns the artifact of the job, if there is one for this device.
Expected<std::optional<BuildObject>> artifact_for(Step& step, Sequence seq, const DeviceInfo& device);
// Stops the build of a job that was leased: the worker that runs the job builds it.
void stop_build(Step& step, Sequence seq);
// Drops the build and the artifact of a job that has ended.
void drop_build(Step& step, Sequence seq);

}  // namespace kq::broker
