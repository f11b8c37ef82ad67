#include "tools/ctl/overview_verbs.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "core/limits.h"
#include "producer/client/sentences.h"
#include "producer/client/wait.h"
#include "producer/overview/worker_state.h"
#include "tools/ctl/broker_objects.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"
#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

std::string labels_text(const Metric& metric) {
  std::string text;
  for (const auto& [name, value] : metric.labels) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

// Formats the value by the unit at the end of the metric's name.
std::string value_text(const Metric& metric) {
  const auto is = [&](std::string_view unit) { return metric.name.ends_with(unit); };
  if (is("_seconds") || is("_seconds_sum")) return age_text(static_cast<std::int64_t>(metric.value * 1000));
  if (is("_bytes") && metric.value >= 0) return bytes_text(static_cast<std::uint64_t>(metric.value));
  if (std::abs(metric.value) < 1e15 && metric.value == std::floor(metric.value))
    return std::to_string(static_cast<std::int64_t>(metric.value));
  return producer::to_text(producer::Json{metric.value});
}

producer::JsonObject metric_object(const Metric& metric) {
  producer::JsonObject labels;
  for (const auto& [name, value] : metric.labels) labels.emplace_back(name, json_text(value));
  return {{"name", json_text(metric.name)},
          {"labels", producer::Json{std::move(labels)}},
          {"value", producer::Json{metric.value}}};
}

void list_lane(Listing& listing, const LaneRow& lane, std::int64_t now_ms) {
  listing.add({std::string(to_string(lane.priority)), lane.submitter.empty() ? "-" : lane.submitter,
               producer::needs_text(lane.needs), std::string(to_string(lane.needs.backend)),
               std::to_string(lane.queued), age_text(now_ms - lane.oldest_ms), lane_state(lane)},
              lane_object(lane));
}

// Returns for example "busy, 2 builds for 42 s": with the number of builds in progress, and how long the longest runs.
std::string state_text(const WorkerStatus& worker, std::int64_t now_ms) {
  const std::string state(producer::state_of(worker, now_ms));
  if (worker.building == 0) return state;
  return state + ", " + producer::counted(worker.building, "build") + " for " +
         age_text(now_ms - worker.build_started_ms);
}

}  // namespace

Expected<ExitCode> ctl_stats(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  Flags flags(
      argv[0],
      "Prints the metrics of the broker, but for those of a pair of brokers (kq_standby_*, kq_broker_epoch) and "
      "kq_metrics_age_seconds, which only --metrics-port serves. docs/operator/run.md explains the metrics.");
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  KQ_TRY_VALUE(auto client, connect(world, broker));
  KQ_TRY_VALUE(const auto stats, ask<StatsReply>(client, StatsQuery{}));
  Listing listing(world.out, broker.json, "metrics", {{"figure"}, {"of"}, {"value", true}});
  for (const Metric& metric : stats.metrics) {
    if (!broker.json && metric.name.ends_with("_bucket")) continue;  // histograms are for programs
    listing.add({metric.name, labels_text(metric), value_text(metric)}, metric_object(metric));
  }
  listing.finish();
  return ExitCode::ok;
}

Expected<ExitCode> ctl_queue(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  Flags flags(argv[0],
              "Prints the queued jobs, one line for each lane. A lane holds the jobs of one priority and one submitter "
              "that have the same requirements. The lane whose job is leased next comes first.");
  add_flags_with_state(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  KQ_TRY_VALUE(auto client, connect_or_start(world, broker));
  Listing listing(world.out, broker.json, "lanes",
                  {{"priority"}, {"submitter"}, {"needs"}, {"backend"}, {"queued", true}, {"oldest", true}, {"state"}});
  std::uint64_t queued = 0;
  std::uint64_t waiting = 0;
  QueueQuery query{.limit = kQueryRowsMax};
  for (bool more = true; more;) {
    KQ_TRY_VALUE(const auto queue, ask<QueueReply>(client, query));
    waiting = queue.waiting;
    more = queue.more && !queue.lanes.empty();
    query.skip += static_cast<std::uint32_t>(queue.lanes.size());
    for (const LaneRow& lane : queue.lanes) {
      queued += lane.queued;
      list_lane(listing, lane, world.unix_now_ms());
    }
  }
  listing.finish({{"waiting", json_number(waiting)}});
  if (broker.json) return ExitCode::ok;
  world.out << producer::counted(queued, "job") << " in " << producer::counted(listing.row_count(), "lane");
  if (waiting > 0)
    world.out << "; " << producer::counted(waiting, "job") << (waiting == 1 ? " waits" : " wait")
              << " for a later time";
  world.out << '\n';
  return ExitCode::ok;
}

Expected<ExitCode> ctl_workers(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  Flags flags(argv[0], "Lists the connected workers. The exit code is 5 when there is none.");
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  KQ_TRY_VALUE(auto client, connect(world, broker));
  KQ_TRY_VALUE(const auto status, ask<BrokerReply>(client, BrokerQuery{}));
  Listing listing(world.out, broker.json, "workers",
                  {{"worker"}, {"state"}, {"running", true}, {"devices"}, {"backends"}, {"labels"}, {"heard", true}});
  for (const WorkerStatus& worker : status.workers) {
    listing.add({worker.worker, state_text(worker, world.unix_now_ms()), std::to_string(worker.running),
                 devices_text(worker), worker.backends.empty() ? "all" : joined(backends_of(worker)),
                 worker.labels.empty() ? "-" : joined(worker.labels),
                 age_text(world.unix_now_ms() - worker.last_seen_ms) + " ago"},
                worker_object(worker, std::string(producer::state_of(worker, world.unix_now_ms()))));
  }
  listing.finish();
  if (!status.workers.empty()) return ExitCode::ok;
  return broker.json ? Expected<ExitCode>(ExitCode::nothing)
                     : failure(Error{ErrorKind::not_found, "no worker is connected to broker " + client.url()});
}

Expected<ExitCode> ctl_status(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  Flags flags(argv[0],
              "Prints the version of the broker, the length of its queue, what is paused, and whether the broker has "
              "keys.");
  add_flags_with_state(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  KQ_TRY_VALUE(auto client, connect_or_start(world, broker));
  KQ_TRY_VALUE(const auto status, ask<BrokerReply>(client, BrokerQuery{}));
  KQ_TRY_VALUE(const auto stats, ask<StatsReply>(client, StatsQuery{}));
  const Pauses pauses = pauses_of(stats);
  const auto draining_count =
      static_cast<std::uint64_t>(std::ranges::count_if(status.workers, &WorkerStatus::draining));
  if (broker.json) {
    const producer::JsonObject object{{"broker", json_text(client.url())},
                                      {"version", json_text(status.version)},
                                      {"queued", json_number(status.queued)},
                                      {"leased", json_number(status.leased)},
                                      {"workers", json_number(status.workers.size())},
                                      {"paused", producer::Json{pauses.is_queue_paused}},
                                      {"draining_workers", json_number(draining_count)},
                                      {"paused_submitters", json_number(pauses.count)},
                                      {"paused_submitter_names", json_texts(pauses.names)},
                                      {"has_keys", producer::Json{status.has_keys}}};
    world.out << producer::to_text(producer::Json{object}) << '\n';
    return ExitCode::ok;
  }
  world.out << "broker " << printable(client.url()) << " of kq " << printable(status.version) << ": "
            << producer::counted(status.queued, "job") << " queued, " << status.leased << " running, "
            << producer::counted(status.workers.size(), "worker") << '\n';
  if (pauses.is_queue_paused) world.out << "the queue is paused; kq-ctl resume ends the pause\n";
  if (pauses.count > 0) world.out << pauses_text(pauses) << "; kq-ctl resume --submitter NAME ends a pause\n";
  if (draining_count > 0 && draining_count == status.workers.size())
    world.out << "every worker is draining, so no job starts; kq-ctl drain WORKER --undo ends that\n";
  world.out << (status.has_keys ? "with keys: sources, logs and runs are for their submitters\n"
                                : "without keys: every client may read every source and change every run\n");
  return ExitCode::ok;
}

}  // namespace kq::tools
