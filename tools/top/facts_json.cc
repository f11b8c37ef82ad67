#include "tools/top/facts_json.h"

#include <utility>

#include "tools/ctl/broker_objects.h"
#include "tools/ctl/listing.h"

namespace kq::tools {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

Json number_or_null(const std::optional<double>& number) {
  return number ? Json{*number} : Json{nullptr};
}

Json queue_json(const TopFacts& facts) {
  JsonArray lanes;
  for (const LaneRow& lane : facts.lanes) lanes.push_back(Json{lane_object(lane)});
  JsonObject finished;
  for (const auto& [verdict, count] : facts.finished) finished.emplace_back(verdict, json_number(count));
  return Json{JsonObject{{"queued", json_number(facts.queued)},
                         {"waiting", json_number(facts.waiting)},
                         {"building", json_number(facts.building)},
                         {"leased", json_number(facts.running)},
                         {"finished", Json{std::move(finished)}},
                         {"finished_per_s", number_or_null(facts.finished_per_s)},
                         {"lanes", Json{std::move(lanes)}},
                         {"has_more_lanes", Json{facts.has_more_lanes}}}};
}

Json job_json(const JobRow& row) {
  return Json{JsonObject{{"id", json_number(row.job.seq)},
                         {"run", json_text(row.job.run)},
                         {"label", json_text(row.label)},
                         {"leased_at_ms", json_time(row.job.leased_at_ms)},
                         {"build_started_ms", json_time(row.build_started_ms)}}};
}

// Returns what the last job on a device saw, or null where no job has told it.
Json conditions_json(const std::optional<Conditions>& conditions) {
  if (!conditions) return Json{nullptr};
  return Json{JsonObject{{"sm_clock_mhz", json_number(conditions->sm_clock_mhz)},
                         {"memory_clock_mhz", json_number(conditions->memory_clock_mhz)},
                         {"temperature_c", json_number(conditions->temperature_c)},
                         {"power_w", Json{conditions->power_w}},
                         {"throttle", json_text(conditions->throttle)}}};
}

Json worker_json(const TopWorker& worker) {
  JsonArray jobs, conditions;
  for (const JobRow& row : worker.jobs) jobs.push_back(job_json(row));
  for (const auto& one : worker.conditions) conditions.push_back(conditions_json(one));
  JsonObject object = worker_object(worker.status, worker.state);
  object.emplace_back("conditions", Json{std::move(conditions)});
  object.emplace_back("jobs", Json{std::move(jobs)});
  return Json{std::move(object)};
}

Json run_json(const producer::ShownRun& run) {
  JsonObject verdicts;
  for (const auto& [verdict, count] : run.counts.verdicts)
    verdicts.emplace_back(to_string(verdict), json_number(count));
  return Json{JsonObject{{"run", json_text(run.run)},
                         {"submitter", json_text(run.submitter)},
                         {"submitted_at_ms", json_time(run.submitted_at_ms)},
                         {"is_counted", Json{run.is_counted && !run.is_part}},
                         {"jobs", json_number(run.counts.jobs)},
                         {"queued", json_number(run.counts.queued)},
                         {"leased", json_number(run.counts.running)},
                         {"finished", json_number(run.counts.finished)},
                         {"passed", json_number(run.passed_count())},
                         {"failed", json_number(run.failed_count())},
                         {"verdicts", Json{std::move(verdicts)}},
                         {"finished_per_s", number_or_null(run.rate_per_s)},
                         {"left_s", number_or_null(run.left_s())}}};
}

Json failure_json(const producer::FailedJob& job) {
  return Json{JsonObject{{"id", json_number(job.seq)},
                         {"run", json_text(job.run)},
                         {"label", json_text(job.label)},
                         {"verdict", json_text(to_string(job.verdict))},
                         {"reason", json_text(job.reason)},
                         {"message", json_text(job.message)},
                         {"device", json_text(job.device)},
                         {"finished_at_ms", json_time(job.finished_at_ms)}}};
}

}  // namespace

Json facts_json(const TopFacts& facts, const std::string& url) {
  JsonArray workers, runs, failures;
  for (const TopWorker& worker : facts.workers) workers.push_back(worker_json(worker));
  for (const producer::ShownRun& run : facts.runs) runs.push_back(run_json(run));
  for (const producer::FailedJob& job : facts.failures) failures.push_back(failure_json(job));
  return Json{JsonObject{{"now_ms", json_time(facts.now_ms)},
                         {"broker", json_text(url)},
                         {"version", json_text(facts.version)},
                         {"has_keys", Json{facts.has_keys}},
                         {"queue", queue_json(facts)},
                         {"workers", Json{std::move(workers)}},
                         {"runs", Json{std::move(runs)}},
                         {"run_count", json_number(facts.run_count)},
                         {"has_more_runs", Json{facts.has_more_runs}},
                         {"failures", Json{std::move(failures)}}}};
}

}  // namespace kq::tools
