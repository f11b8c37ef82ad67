#include "tools/top/view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "producer/client/wait.h"
#include "producer/overview/worker_state.h"
#include "tools/cli/natural_order.h"
#include "tools/cli/text.h"
#include "tools/ctl/broker_objects.h"

namespace kq::tools {
namespace {

using sys::Colour;

constexpr std::size_t kBarWidth = 10;

bool holds(const std::string& text, const std::string& wanted) {
  return producer::lower(text).find(wanted) != std::string::npos;
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string rate_text(std::optional<double> rate) {
  if (!rate) return "-";
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, *rate < 10 ? "%.2f" : "%.0f", *rate);
  return buffer;
}

Colour state_colour(const std::string& state) {
  if (state == "silent" || state == "quarantined") return Colour::red;
  if (state == "draining") return Colour::yellow;
  return state == "busy" ? Colour::green : Colour::none;
}

// Returns the range of a figure over the devices of a worker: "1980", "1755-1980", or "-" where it is unknown.
template <class Figure>
std::string range_text(const TopWorker& worker, Figure figure) {
  double low = std::numeric_limits<double>::max(), high = 0;
  for (const auto& conditions : worker.conditions) {
    if (!conditions) continue;
    low = std::min(low, std::round(static_cast<double>(figure(*conditions))));
    high = std::max(high, std::round(static_cast<double>(figure(*conditions))));
  }
  if (high <= 0) return "-";
  const auto text = [](double value) { return std::to_string(static_cast<std::int64_t>(value)); };
  return low == high ? text(low) : text(low) + "-" + text(high);
}

std::string memory_text(const WorkerStatus& worker) {
  std::uint64_t most = 0;
  for (const DeviceInfo& device : worker.devices) most = std::max(most, device.memory_bytes);
  return most == 0 ? "-" : bytes_text(most);
}

bool is_of(const JobRow& row, const std::string& filter) {
  return holds(row.label, filter) || holds(row.job.run, filter);
}

bool is_of(const TopWorker& worker, const std::string& filter) {
  const WorkerStatus& status = worker.status;
  return holds(status.worker, filter) || holds(devices_text(status), filter) ||
         std::ranges::any_of(status.labels, [&](const std::string& label) { return holds(label, filter); }) ||
         std::ranges::any_of(worker.jobs, [&](const JobRow& row) { return is_of(row, filter); });
}

// Returns the Unix time of the oldest lease of a worker, or the largest number where it has none.
std::int64_t oldest_ms(const TopWorker& worker) {
  return worker.jobs.empty() ? std::numeric_limits<std::int64_t>::max() : worker.jobs.front().job.leased_at_ms;
}

bool goes_before(const TopWorker& a, const TopWorker& b, WorkerOrder order, std::int64_t now_ms) {
  const auto rank = [&](const TopWorker& one) -> std::int64_t {
    switch (order) {
      case WorkerOrder::attention:
        return producer::rank_of(one.status, now_ms);
      case WorkerOrder::name:
        return 0;
      case WorkerOrder::leases:
        return -static_cast<std::int64_t>(one.status.running);
      case WorkerOrder::oldest:
        return oldest_ms(one);
    }
    return 0;
  };
  const std::int64_t rank_a = rank(a), rank_b = rank(b);
  return rank_a != rank_b ? rank_a < rank_b : natural_order(a.status.worker, b.status.worker) < 0;
}

std::vector<const TopWorker*> shown_workers(const TopFacts& facts, const ViewOptions& options) {
  std::vector<const TopWorker*> workers;
  const std::string filter = producer::lower(options.filter);
  for (const TopWorker& worker : facts.workers) {
    if (filter.empty() || is_of(worker, filter)) workers.push_back(&worker);
  }
  std::ranges::sort(workers, [&](const TopWorker* a, const TopWorker* b) {
    return goes_before(*a, *b, options.order, facts.now_ms);
  });
  return workers;
}

// Appends a table, an empty line before it, and a line about the rows that are left out.
void add_list(std::vector<Line>& lines, const std::vector<LineColumn>& columns, std::vector<std::vector<Piece>> rows,
              const ViewOptions& options, bool is_short) {
  if (rows.empty()) return;
  const std::size_t left_out = is_short && rows.size() > kShortListMax ? rows.size() - kShortListMax : 0;
  rows.resize(rows.size() - left_out);
  if (!lines.empty()) lines.push_back({});
  std::ranges::move(table_lines(columns, std::move(rows), options.width), std::back_inserter(lines));
  if (left_out > 0) lines.push_back({{"and " + std::to_string(left_out) + " more", Colour::dim}});
}

void add_lanes(std::vector<Line>& lines, const TopFacts& facts, const ViewOptions& options) {
  std::vector<std::vector<Piece>> rows;
  for (const LaneRow& lane : facts.lanes) {
    const std::string state = lane_state(lane);
    rows.push_back({{std::to_string(lane.queued)},
                    {std::string(to_string(lane.priority))},
                    {or_dash(lane.submitter)},
                    {producer::needs_text(lane.needs)},
                    {std::string(to_string(lane.needs.backend))},
                    {age_text(facts.now_ms - lane.oldest_ms)},
                    {state, state == "served" ? Colour::none : Colour::yellow}});
  }
  add_list(lines,
           {{"QUEUED", true},
            {"PRIORITY"},
            {"SUBMITTER", false, true},
            {"NEEDS", false, true},
            {"BACKEND"},
            {"OLDEST", true},
            {"STATE"}},
           std::move(rows), options, options.is_short);
}

std::string bar_text(std::size_t done, std::size_t all) {
  const std::size_t filled = all == 0 ? 0 : kBarWidth * done / all;
  return std::string(filled, '#') + std::string(kBarWidth - filled, '.');
}

void add_runs(std::vector<Line>& lines, const TopFacts& facts, const ViewOptions& options) {
  std::vector<std::vector<Piece>> rows;
  const std::string filter = producer::lower(options.filter);
  for (const producer::ShownRun& run : facts.runs) {
    if (!filter.empty() && !holds(run.run, filter)) continue;
    const producer::WatchedCounts& counts = run.counts;
    const bool is_open = counts.queued + counts.running > 0;
    const auto left_s = run.left_s();
    // A run that is still being read has more jobs than are counted.
    const std::string all = std::to_string(counts.jobs) + (run.is_counted && !run.is_part ? "" : "+");
    const std::size_t failed = run.failed_count();
    rows.push_back({{run.run},
                    {or_dash(run.submitter)},
                    {bar_text(counts.finished, counts.jobs)},
                    {std::to_string(counts.finished) + "/" + all},
                    {std::to_string(run.passed_count())},
                    {std::to_string(failed), failed > 0 ? Colour::red : Colour::none},
                    {std::to_string(counts.running)},
                    {std::to_string(counts.queued)},
                    {is_open ? rate_text(run.rate_per_s) : "-"},
                    {!is_open && run.is_counted ? "done"
                     : left_s                   ? age_text(static_cast<std::int64_t>(*left_s * 1'000))
                                                : "-"}});
  }
  add_list(lines,
           {{"RUN", false, true},
            {"SUBMITTER", false, true},
            {"PROGRESS"},
            {"DONE", true},
            {"PASSED", true},
            {"FAILED", true},
            {"RUNNING", true},
            {"QUEUED", true},
            {"PER S", true},
            {"LEFT", true}},
           std::move(rows), options, options.is_short);
  if (facts.run_count > facts.runs.size() && filter.empty()) {
    lines.push_back({{std::to_string(facts.run_count) + (facts.has_more_runs ? "+" : "") +
                          " runs in all; kq ctl runs "
                          "lists them",
                      Colour::dim}});
  }
}

void add_failures(std::vector<Line>& lines, const TopFacts& facts, const ViewOptions& options) {
  std::vector<std::vector<Piece>> rows;
  const std::string filter = producer::lower(options.filter);
  for (const producer::FailedJob& job : facts.failures) {
    if (!filter.empty() && !holds(job.label, filter) && !holds(job.run, filter)) continue;
    const std::string outcome =
        std::string(to_string(job.verdict)) + (job.reason.empty() ? "" : " (" + job.reason + ")");
    rows.push_back({{age_text(facts.now_ms - job.finished_at_ms) + " ago"},
                    {job.run},
                    {job.label},
                    {outcome, outcome_colour(outcome)},
                    {job.message.substr(0, job.message.find('\n'))}});
  }
  add_list(lines,
           {{"FAILED", true}, {"RUN", false, true}, {"LABEL", false, true}, {"VERDICT"}, {"MESSAGE", false, true}},
           std::move(rows), options, options.is_short);
}

// Adds the rows of one worker: the first has the worker and its oldest lease, each further one another lease.
void add_worker(std::vector<std::vector<Piece>>& rows, const TopWorker& worker, std::int64_t now_ms) {
  const WorkerStatus& status = worker.status;
  std::string state = worker.state;
  if (state == "silent") state += " for " + age_text(now_ms - status.last_seen_ms);
  const std::vector<Piece> hardware{{or_dash(devices_text(status))},
                                    {status.building == 0 ? "-" : std::to_string(status.building)},
                                    {memory_text(status)},
                                    {range_text(worker, [](const Conditions& one) { return one.sm_clock_mhz; })},
                                    {range_text(worker, [](const Conditions& one) { return one.temperature_c; })},
                                    {range_text(worker, [](const Conditions& one) { return one.power_w; })}};
  const auto add = [&](bool is_first, const std::vector<Piece>& lease) {
    std::vector<Piece> row(3);
    if (is_first) row = {{status.worker}, {state, state_colour(worker.state)}, {std::to_string(status.running)}};
    row.insert(row.end(), lease.begin(), lease.end());
    if (is_first) row.insert(row.end(), hardware.begin(), hardware.end());
    row.resize(3 + lease.size() + hardware.size());
    rows.push_back(std::move(row));
  };
  const std::size_t shown = std::min(worker.jobs.size(), kWorkerJobsMax);
  if (shown == 0) add(true, {{"-"}, {"-"}, {"-"}});
  for (std::size_t i = 0; i < shown; ++i) {
    const JobRow& row = worker.jobs[i];
    add(i == 0, {{row.job.run + " " + row.label},
                 {age_text(now_ms - row.job.leased_at_ms)},
                 {row.build_started_ms == 0 ? "-" : age_text(now_ms - row.build_started_ms)}});
  }
  if (shown < worker.jobs.size())
    add(false, {{"and " + std::to_string(worker.jobs.size() - shown) + " more", Colour::dim}, {}, {}});
}

}  // namespace

std::vector<Line> summary_lines(const TopFacts& facts, const ViewOptions& options) {
  std::vector<Line> lines;
  std::string jobs = "Jobs      " + std::to_string(facts.queued) + " queued";
  if (facts.waiting > 0) jobs += " (" + std::to_string(facts.waiting) + " wait for a later time)";
  jobs += ", " + std::to_string(facts.building) + " building, " + std::to_string(facts.running) + " running, " +
          rate_text(facts.finished_per_s) + " done/s";
  lines.push_back({{jobs}});
  Line finished{{"Finished  "}};
  for (const auto& [verdict, count] : facts.finished) {
    finished.push_back({finished.size() == 1 ? "" : ", "});
    finished.push_back({std::to_string(count) + " " + printable(verdict), outcome_colour(verdict)});
  }
  finished.push_back({facts.finished.empty() ? "none since the broker started" : " since the broker started"});
  lines.push_back(std::move(finished));
  std::map<std::string, std::size_t> states, models;
  for (const TopWorker& worker : facts.workers) {
    ++states[worker.state];
    for (const DeviceInfo& device : worker.status.devices) ++models[producer::model_of(device)];
  }
  Line workers{{"Workers   " + std::to_string(facts.workers.size())}};
  for (const auto& [state, count] : states) {
    workers.push_back({workers.size() == 1 ? ": " : ", "});
    workers.push_back({std::to_string(count) + " " + state, state_colour(state)});
  }
  std::string devices;
  for (const auto& [model, count] : models)
    devices += (devices.empty() ? "; " : ", ") + std::to_string(count) + " x " + printable(model);
  workers.push_back({devices});
  lines.push_back(std::move(workers));
  for (Line& line : lines) line = cut_line(std::move(line), options.width);
  return lines;
}

std::vector<Line> list_lines(const TopFacts& facts, const ViewOptions& options) {
  std::vector<Line> lines;
  add_lanes(lines, facts, options);
  add_runs(lines, facts, options);
  add_failures(lines, facts, options);
  std::vector<std::vector<Piece>> rows;
  for (const TopWorker* worker : shown_workers(facts, options)) add_worker(rows, *worker, facts.now_ms);
  add_list(lines,
           {{"WORKER", false, true},
            {"STATE"},
            {"LEASES", true},
            {"JOB", false, true},
            {"LEASED", true},
            {"BUILD", true},
            {"DEVICES", false, true},
            {"BUILDING", true},
            {"MEMORY", true},
            {"SM MHZ", true},
            {"TEMP", true},
            {"WATT", true}},
           std::move(rows), options, false);
  return lines;
}

}  // namespace kq::tools
