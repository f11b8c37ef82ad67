#include "producer/gateway/live/overview.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "producer/gateway/live/overview_json.h"
#include "producer/gateway/live/service_source.h"
#include "producer/overview/worker_state.h"
#include "sys/clock.h"

namespace kq::gateway {

using producer::Json;
using producer::JsonArray;

std::shared_ptr<View> Overviews::of(const Submitter& viewer, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  auto [place, is_new] = views_.try_emplace(viewer.name, now_ms, nullptr);
  if (is_new) place->second.second = std::make_shared<View>(viewer);
  place->second.first = now_ms;
  std::shared_ptr<View> view = place->second.second;
  if (views_.size() > kViewsMax) {
    views_.erase(std::ranges::min_element(views_, {}, [](const auto& one) { return one.second.first; }));
  }
  return view;
}

Expected<std::string> View::text(Service& service) {
  const std::lock_guard lock(mutex_);
  if (is_old(text_made_ms_)) KQ_TRY(refresh(service));
  return text_;
}

bool View::is_old(std::int64_t made_ms) const {
  return made_ms == 0 || sys::monotonic_now_ms() - made_ms >= kOverviewAgeMs;
}

Expected<void> View::refresh(Service& service) {
  ServiceSource source(service, viewer_);
  KQ_TRY(overview_.refresh(source));
  JsonArray runs, failures;
  for (const producer::ShownRun& run : overview_.runs()) runs.push_back(run_json(run));
  for (const producer::FailedJob& job : overview_.failures()) failures.push_back(failed_job_json(job));
  const BrokerReply& broker = overview_.broker();
  Object body;
  body.add("version", broker.version).add("has_keys", broker.has_keys);
  body.add("queue", queue_json(broker, overview_.lanes(), viewer_)).add("workers", workers_json(service.now_ms()));
  body.add("runs", Json{std::move(runs)}).add("run_count", overview_.run_count());
  body.add("has_more_runs", overview_.has_more_runs()).add("failures", Json{std::move(failures)});
  const std::string object = producer::to_text(body.json());
  text_ = object.substr(1, object.size() - 2);
  text_made_ms_ = running_read_ms_ = sys::monotonic_now_ms();
  return {};
}

Json View::worker_json(const WorkerStatus& worker, std::int64_t now_ms, LastSeen last_seen) const {
  JsonArray devices;
  for (const DeviceInfo& device : worker.devices) {
    devices.push_back(device_state_json(device, overview_.conditions_of(device)));
  }
  JsonArray jobs;
  const auto [begin, end] = overview_.running().equal_range(worker.worker);
  for (auto row = begin; row != end; ++row) jobs.push_back(running_job_json(row->second));
  Object object = worker_object(worker, now_ms, last_seen);
  object.add("devices", Json{std::move(devices)}).add("jobs", Json{std::move(jobs)});
  return object.json();
}

Json View::workers_json(std::int64_t now_ms) const {
  const BrokerReply& broker = overview_.broker();
  std::vector<const WorkerStatus*> order;
  for (const WorkerStatus& worker : broker.workers) order.push_back(&worker);
  // Workers that need attention come first.
  std::ranges::sort(order, [&](const WorkerStatus* a, const WorkerStatus* b) {
    const auto rank = [&](const WorkerStatus* one) {
      return std::pair(producer::rank_of(*one, now_ms), std::string_view(one->worker));
    };
    return rank(a) < rank(b);
  });
  JsonArray shown;
  for (const WorkerStatus* worker : order) {
    if (shown.size() == kShownWorkersMax) break;
    shown.push_back(worker_json(*worker, now_ms, LastSeen::of_silent));
  }
  Object object = worker_counts(broker, now_ms);
  object.add("shown", Json{std::move(shown)});
  return object.json();
}

Expected<Json> View::workers(Service& service, const std::string& text, const std::string& after, std::size_t limit) {
  KQ_TRY_VALUE(BrokerReply broker, service.broker());
  const std::lock_guard lock(mutex_);
  if (is_old(running_read_ms_)) {
    ServiceSource source(service, viewer_);
    KQ_TRY(overview_.refresh_running(source));
    running_read_ms_ = sys::monotonic_now_ms();
  }
  const std::int64_t now_ms = service.now_ms();
  std::ranges::sort(broker.workers, {}, &WorkerStatus::worker);
  const std::string wanted = producer::lower(text);
  JsonArray page;
  std::string last;
  bool has_more = false;
  for (const WorkerStatus& worker : broker.workers) {
    if (!after.empty() && worker.worker <= after) continue;
    const bool is_model = std::ranges::any_of(worker.devices, [&](const DeviceInfo& device) {
      return producer::lower(device.model).find(wanted) != std::string::npos;
    });
    if (!is_model && producer::lower(worker.worker).find(wanted) == std::string::npos) continue;
    has_more = page.size() == limit;
    if (has_more) break;
    page.push_back(worker_json(worker, now_ms, LastSeen::of_all));
    last = worker.worker;
  }
  Object body;
  body.add("workers", Json{std::move(page)}).add("next", has_more ? Json{last} : Json{nullptr});
  return body.json();
}

Expected<producer::FoundJobs> View::find(Service& service, const std::string& run, const producer::JobFilter& filter) {
  const std::lock_guard lock(mutex_);
  ServiceSource source(service, viewer_);
  return overview_.find(source, run, filter);
}

}  // namespace kq::gateway
