// The decisions of kq-fleet: which workers to start, to cancel and to drain, from the queue, the workers and the jobs
// of the batch system. plan() is a pure function; tools/fleet/fleet.h carries its actions out.
//
// A pool is a kind of worker, such as those with one H100. Each queued job counts for the first pool that can run it. A
// pool needs one worker for every `jobs_per_device` unfinished jobs of each of its devices. All pools together have at
// least `workers_min` and at most `workers_max` workers.
//
// A batch job that has not started is cancelled as soon as it is surplus. A worker is drained when it is surplus and
// was idle for `idle_ms`, or when there are more than `workers_max`. A drained worker finishes what it runs, so that no
// decision ends a running job.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/messages.h"

namespace kq::tools {

// A batch job counts as failed for this long after its end. With kFleetFailuresMax failed jobs no worker is started.
inline constexpr std::int64_t kFleetFailureWindowMs = 5 * 60'000;
inline constexpr std::size_t kFleetFailuresMax = 3;

// A batch job that runs for this long without a worker at the broker is drained.
inline constexpr std::int64_t kFleetStartLimitMs = 10 * 60'000;

// The most workers that one round starts.
inline constexpr std::uint32_t kFleetStartsMax = 100;

struct FleetPool {
  std::string gpu{};       // the model as the batch system names it, such as "h100"; empty: no GPU is requested
  std::uint32_t gpus = 1;  // GPUs of each worker, where `gpu` is set
  bool is_wanted = true;   // false for a pool of an earlier fleet, whose workers end when they are idle

  friend bool operator==(const FleetPool&, const FleetPool&) = default;
};
// Returns for example "h100:2", or "any" for a pool without GPUs.
std::string name_of(const FleetPool& pool);
// Parses what name_of() returns; ":1" may be left out.
Expected<FleetPool> parse_pool(const std::string& text);

// A job of the batch system. `ending` is a job whose processes are being ended.
struct FleetJob {
  enum class State { pending, running, ending, failed, ended };

  std::string id{};  // such as "12" or "12_3"
  std::size_t pool = 0;
  State state = State::pending;
  std::int64_t submitted_ms = 0;
  std::int64_t ended_ms = 0;  // for `failed`
};

struct FleetLimits {
  std::uint32_t workers_max = 1;
  std::uint32_t workers_min = 0;
  std::uint32_t jobs_per_device = 10;
  std::int64_t idle_ms = 60'000;
  std::vector<std::string> labels{};  // of every worker of the fleet; a worker of a pool has the pool's `gpu` as well
};

// What the fleet sees at one time.
struct FleetView {
  std::vector<FleetPool> pools{};
  std::vector<LaneRow> lanes{};
  std::vector<WorkerStatus> workers{};  // all workers of the broker; the label "slurm-ID" names the batch job of one
  std::vector<FleetJob> jobs{};
};

// What the fleet remembers from round to round. A fleet that starts with an empty memory drains idle workers later, and
// otherwise decides the same.
struct FleetMemory {
  std::map<std::string, std::int64_t> idle_since_ms;    // by batch job
  std::map<std::string, std::int64_t> absent_since_ms;  // batch jobs that run without a worker at the broker
  std::set<std::string> drained;                        // batch jobs that were told to drain
};

struct FleetAction {
  enum class Kind { start, cancel, drain, say };

  Kind kind = Kind::say;
  std::size_t pool = 0;     // for `start`
  std::uint32_t count = 0;  // for `start`
  std::string job{};        // for `cancel` and `drain`
  std::string reason{};     // for `say` the whole sentence

  friend bool operator==(const FleetAction&, const FleetAction&) = default;
};

// Returns what to do at `now_ms`, in this order: cancel, drain, start, say. Updates the times in `memory`; the caller
// adds a job to `memory.drained` once the job was told to drain.
std::vector<FleetAction> plan(const FleetView& view, const FleetLimits& limits, FleetMemory& memory,
                              std::int64_t now_ms);

}  // namespace kq::tools
