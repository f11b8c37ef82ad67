#include "producer/gateway/live/overview_json.h"

#include <cmath>
#include <map>

#include "producer/client/wait.h"
#include "producer/overview/overview.h"
#include "producer/overview/worker_state.h"

namespace kq::gateway {

using producer::Json;
using producer::JsonArray;

Json queue_json(const BrokerReply& broker, const QueueReply& queue, const Submitter& viewer) {
  JsonArray lanes;
  for (const LaneRow& lane : queue.lanes) {
    const bool is_own =
        viewer.name.empty() || lane.submitter == viewer.name || lane.submitter.ends_with("/" + viewer.name);
    Object object;
    object.add("priority", to_string(lane.priority)).add("submitter", is_own ? lane.submitter : std::string("others"));
    object.add("needs", producer::needs_text(lane.needs)).add("backend", to_string(lane.needs.backend));
    object.add("queued", lane.queued).add("oldest_at", time_json(lane.oldest_ms));
    object.add("state", lane.paused ? "paused" : lane.served ? "served" : "no worker");
    lanes.push_back(object.json());
  }
  Object object;
  object.add("queued", broker.queued).add("running", broker.leased).add("waiting", queue.waiting);
  object.add("lanes", Json{std::move(lanes)}).add("has_more_lanes", queue.more);
  return object.json();
}

Object worker_object(const WorkerStatus& worker, std::int64_t now_ms, LastSeen last_seen) {
  JsonArray labels, quarantined, targets;
  for (const std::string& label : worker.labels) labels.push_back(Json{label});
  for (const std::string& sentence : worker.quarantined) quarantined.push_back(Json{sentence});
  for (const DeviceInfo& target : worker.builds_for)
    targets.push_back(Json{target.arch.empty() ? std::string(to_string(target.kind)) : target.arch});
  const std::string_view state = producer::state_of(worker, now_ms);
  Object object;
  object.add("worker", worker.worker).add("state", state).add("draining", worker.draining);
  object.add("running", worker.running).add("labels", Json{std::move(labels)});
  object.add("quarantined", Json{std::move(quarantined)}).add("builds_for", Json{std::move(targets)});
  object.add("building", worker.building).add("build_started_at", time_json(worker.build_started_ms));
  const bool has_time = last_seen == LastSeen::of_all || state == "silent";
  object.add("last_seen_at", has_time ? time_json(worker.last_seen_ms) : Json{nullptr});
  return object;
}

Json device_state_json(const DeviceInfo& device, const Conditions* conditions) {
  Object object;
  object.add("kind", to_string(device.kind)).add("model", device.model).add("memory_bytes", device.memory_bytes);
  if (conditions == nullptr) return object.json();
  object.add("sm_clock_mhz", conditions->sm_clock_mhz).add("memory_clock_mhz", conditions->memory_clock_mhz);
  object.add("temperature_c", conditions->temperature_c).add("power_w", conditions->power_w);
  object.add("throttle", conditions->throttle);
  return object.json();
}

Json running_job_json(const JobRow& row) {
  Object object;
  object.add("id", JobId{.seq = row.job.seq, .run = row.job.run, .label = row.label}.text()).add("job", row.job.seq);
  object.add("run", row.job.run).add("label", row.label).add("leased_at", time_json(row.job.leased_at_ms));
  object.add("build_started_at", time_json(row.build_started_ms));
  return object.json();
}

Json run_json(const producer::ShownRun& run) {
  const producer::WatchedCounts& counts = run.counts;
  Object verdicts;
  for (const auto& [verdict, count] : counts.verdicts) verdicts.add(to_string(verdict), count);
  Object object;
  object.add("run", run.run).add("submitter", run.submitter);
  object.add("submitted_at", time_json(run.submitted_at_ms)).add("is_counted", run.is_counted);
  object.add("is_part", run.is_part).add("jobs", counts.jobs).add("queued", counts.queued);
  object.add("running", counts.running).add("finished", counts.finished);
  object.add("passed", run.passed_count()).add("failed", run.failed_count()).add("verdicts", verdicts.json());
  object.add("rate_per_s", run.rate_per_s ? Json{std::round(*run.rate_per_s * 100) / 100} : Json{nullptr});
  const std::optional<double> left_s = run.left_s();
  object.add("left_s", left_s ? Json{std::round(*left_s)} : Json{nullptr});
  return object.json();
}

Json failed_job_json(const producer::FailedJob& job) {
  Object object;
  object.add("id", JobId{.seq = job.seq, .run = job.run, .label = job.label}.text());
  object.add("job", job.seq).add("run", job.run);
  object.add("label", job.label).add("verdict", to_string(job.verdict)).add("reason", job.reason);
  object.add("message", job.message).add("device", job.device).add("finished_at", time_json(job.finished_at_ms));
  return object.json();
}

Object worker_counts(const BrokerReply& broker, std::int64_t now_ms) {
  struct Model {
    std::size_t devices = 0;
    std::size_t workers = 0;
    std::uint64_t memory_bytes = 0;
  };
  std::map<std::string, std::size_t> states;
  std::map<std::string, Model> models;
  for (const WorkerStatus& worker : broker.workers) {
    ++states[std::string(producer::state_of(worker, now_ms))];
    std::string last;
    for (const DeviceInfo& device : worker.devices) {
      const std::string name = producer::model_of(device);
      Model& model = models[name];
      ++model.devices;
      model.workers += name == last ? 0 : 1;
      model.memory_bytes = device.memory_bytes;
      last = name;
    }
  }
  Object state_counts;
  for (const auto& [state, count] : states) state_counts.add(state, count);
  JsonArray list;
  for (const auto& [name, model] : models) {
    Object object;
    object.add("model", name).add("devices", model.devices).add("workers", model.workers);
    object.add("memory_bytes", model.memory_bytes);
    list.push_back(object.json());
  }
  Object object;
  object.add("count", broker.workers.size()).add("states", state_counts.json()).add("models", Json{std::move(list)});
  return object;
}

}  // namespace kq::gateway
