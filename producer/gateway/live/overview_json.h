// The JSON of the parts of an overview.
#pragma once

#include <cstdint>

#include "core/messages.h"
#include "producer/gateway/http.h"
#include "producer/gateway/rest/values.h"
#include "producer/overview/overview.h"

namespace kq::gateway {

// Returns {"queued", "running", "waiting", "lanes": [...], "has_more_lanes"}. A submitter sees the names of its own
// lanes only.
producer::Json queue_json(const BrokerReply& broker, const QueueReply& queue, const Submitter& viewer);

// Which workers have the time of their last message. The time of each heartbeat would make every overview new.
enum class LastSeen { of_silent, of_all };

// Returns {"worker", "state", "running", ...} without devices and jobs.
Object worker_object(const WorkerStatus& worker, std::int64_t now_ms, LastSeen last_seen);

// Returns a device with what the last job on it saw: its clocks and temperature. `conditions` is null for a CPU, and
// where no job has told them.
producer::Json device_state_json(const DeviceInfo& device, const Conditions* conditions);

// Returns a leased job: {"id", "job", "run", "label", "leased_at", "build_started_at"}.
producer::Json running_job_json(const JobRow& row);

// Returns a run with its progress: {"run", "submitter", "jobs", "finished", "rate_per_s", "left_s", ...}.
producer::Json run_json(const producer::ShownRun& run);

// Returns a failed job: {"id", "job", "run", "label", "verdict", "reason", "message", ...}.
producer::Json failed_job_json(const producer::FailedJob& job);

// Returns {"count", "states": {STATE: N}, "models": [{"model", "devices", "workers", "memory_bytes"}]}.
Object worker_counts(const BrokerReply& broker, std::int64_t now_ms);

}  // namespace kq::gateway
