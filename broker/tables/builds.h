// The builds that workers without a device make for queued jobs (jobs/prebuild.h): which are in flight, which artifacts
// there are, and which failed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "broker/tables/worker_pool.h"
#include "core/messages.h"

namespace kq::broker {

struct Builds {
  struct InFlight {
    SessionId session_id = kNoSession;  // the builder
    DeviceInfo target;
    std::int64_t deadline_ms = 0;
    std::uint32_t heartbeats_missed = 0;
  };
  struct Artifact {
    DeviceKind kind = DeviceKind::cuda;
    std::string arch;
    std::size_t bytes = 0;
  };

  std::map<Sequence, InFlight> in_flight{};  // of queued jobs
  // Of unfinished jobs: the artifacts in the store's family `object`, or among the writes of this turn.
  std::map<Sequence, Artifact> artifacts{};
  std::map<Sequence, BuildObject> uncommitted{};  // the artifacts among the writes of this turn
  std::set<Sequence> failed{};                    // jobs whose prebuild failed
  std::size_t artifact_bytes = 0;                 // of all artifacts
  std::int64_t next_search_ms = 0;                // when to search for jobs to build again
};

}  // namespace kq::broker
