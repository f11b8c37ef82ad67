#include "tools/ctl/broker_objects.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "producer/client/sentences.h"
#include "producer/overview/worker_state.h"
#include "tools/cli/text.h"
#include "tools/ctl/listing.h"

namespace kq::tools {
namespace {

// The target that a worker without devices builds for, such as "sm_90".
std::string target_text(const DeviceInfo& target) {
  return target.arch.empty() ? std::string(to_string(target.kind)) : target.arch;
}

std::vector<std::string> targets_of(const WorkerStatus& worker) {
  std::vector<std::string> names;
  for (const DeviceInfo& target : worker.builds_for) names.push_back(target_text(target));
  return names;
}

// Returns the value of a metric without labels, or 0 where the broker does not have it.
double value_of(const StatsReply& stats, std::string_view name) {
  const auto found = std::ranges::find(stats.metrics, name, &Metric::name);
  return found == stats.metrics.end() ? 0 : found->value;
}

}  // namespace

producer::JsonObject needs_object(const Requirements& needs) {
  return {{"device", json_text(to_string(needs.wish))},
          {"gpu", json_text(needs.gpu_model)},
          {"memory_above_bytes", json_number(needs.memory_above_bytes)},
          {"backend", json_text(to_string(needs.backend))},
          {"labels", json_texts(needs.labels)},
          {"device_count", json_number(needs.device_count)}};
}

producer::JsonObject lane_object(const LaneRow& lane) {
  return {{"priority", json_text(to_string(lane.priority))},
          {"submitter", json_text(lane.submitter)},
          {"needs", producer::Json{needs_object(lane.needs)}},
          {"queued", json_number(lane.queued)},
          {"oldest_ms", json_time(lane.oldest_ms)},
          {"served", producer::Json{lane.served}},
          {"paused", producer::Json{lane.paused}}};
}

producer::JsonObject worker_object(const WorkerStatus& worker, const std::string& state) {
  producer::JsonArray devices;
  for (const DeviceInfo& device : worker.devices) {
    devices.push_back(producer::Json{producer::JsonObject{{"kind", json_text(to_string(device.kind))},
                                                          {"model", json_text(device.model)},
                                                          {"uuid", json_text(device.uuid)},
                                                          {"memory_bytes", json_number(device.memory_bytes)},
                                                          {"device_count", json_number(device.device_count)}}});
  }
  return {{"worker", json_text(worker.worker)},
          {"state", json_text(state)},
          {"running", json_number(worker.running)},
          {"devices", producer::Json{std::move(devices)}},
          {"backends", worker.backends.empty() ? producer::Json{nullptr} : json_texts(backends_of(worker))},
          {"quarantined", json_texts(worker.quarantined)},
          {"builds_for", json_texts(targets_of(worker))},
          {"built", json_number(worker.built_count)},
          {"building", json_number(worker.building)},
          {"build_started_ms", json_time(worker.build_started_ms)},
          {"labels", json_texts(worker.labels)},
          {"last_seen_ms", json_time(worker.last_seen_ms)}};
}

std::string lane_state(const LaneRow& lane) {
  if (lane.paused) return "paused";
  return lane.served ? "served" : "no worker";
}

std::string devices_text(const WorkerStatus& worker) {
  std::map<std::string, std::size_t> count;
  for (const DeviceInfo& device : worker.devices) ++count[producer::model_of(device)];
  std::string text;
  for (const auto& [model, n] : count)
    text += (text.empty() ? "" : ", ") + (n > 1 ? std::to_string(n) + " x " : "") + model;
  for (const DeviceInfo& target : worker.builds_for)
    text += (text.empty() ? "builds for " : ", ") + target_text(target);
  for (const std::string& sentence : worker.quarantined)
    text += (text.empty() ? "" : "; ") + ("quarantined: " + sentence);
  return text;
}

std::vector<std::string> backends_of(const WorkerStatus& worker) {
  std::vector<std::string> names;
  for (const Backend backend : worker.backends) names.emplace_back(to_string(backend));
  return names;
}

bool Pauses::may_have(const std::string& submitter) const {
  return count > names.size() || std::ranges::find(names, submitter) != names.end();
}

Pauses pauses_of(const StatsReply& stats) {
  Pauses pauses{.is_queue_paused = value_of(stats, "kq_queue_paused") > 0,
                .count = static_cast<std::uint64_t>(value_of(stats, "kq_submitters_paused"))};
  for (const Metric& metric : stats.metrics) {
    const auto name = metric.labels.find("submitter");
    if (metric.name == "kq_submitter_paused" && name != metric.labels.end()) pauses.names.push_back(name->second);
  }
  return pauses;
}

std::string pause_text(const Pauses& pauses, const std::string& submitter) {
  constexpr std::string_view kResume = "kq-ctl resume";
  const std::string of_submitter = std::string(kResume) + " --submitter " + producer::shell_quoted(submitter);
  const std::string ends = "; an operator ends the pause with ";
  const bool may_be_paused = !submitter.empty() && pauses.may_have(submitter);
  if (!pauses.is_queue_paused)
    return submitter.empty() ? "the queue was paused"
                             : "its submitter " + submitter + " is paused" + ends + of_submitter;
  if (!may_be_paused) return "the queue is paused" + ends + std::string(kResume);
  const bool is_known = pauses.count <= pauses.names.size();
  return "the queue" + std::string(is_known ? " and" : ", and perhaps") + " its submitter " + submitter +
         (is_known ? " are paused" : ", is paused") + "; an operator ends the pauses with " + std::string(kResume) +
         " and " + of_submitter;
}

std::string pauses_text(const Pauses& pauses) {
  std::string text = producer::counted(pauses.count, "submitter") + (pauses.count == 1 ? " is" : " are") + " paused";
  if (pauses.names.empty()) return text;
  text += ": " + printable(joined(pauses.names));
  if (pauses.count > pauses.names.size())
    text += " and " + std::to_string(pauses.count - pauses.names.size()) + " more";
  return text;
}

}  // namespace kq::tools
