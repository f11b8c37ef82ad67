// What the live page shows, as JSON: the queue, workers, runs with their progress, and the newest failures.
//
// All pages of one viewer share a view, which is made anew when a page asks and the last one is kOverviewAgeMs old;
// without a page nothing is read. producer/overview/overview.h says what is read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/error.h"
#include "core/messages.h"
#include "producer/gateway/http.h"
#include "producer/gateway/live/overview_json.h"
#include "producer/overview/overview.h"

namespace kq::gateway {

class Service;

inline constexpr std::int64_t kOverviewAgeMs = 500;
inline constexpr std::size_t kShownWorkersMax = 50;
inline constexpr std::size_t kViewsMax = 32;  // submitters whose views are kept

// The overview of one viewer.
class View {
 public:
  explicit View(Submitter viewer) : viewer_(std::move(viewer)) {}

  // Returns the present overview as the members of a JSON object, without braces.
  Expected<std::string> text(Service& service);
  // Returns a page of workers whose names or devices hold `text`, after the worker `after`, as JSON.
  Expected<producer::Json> workers(Service& service, const std::string& text, const std::string& after,
                                   std::size_t limit);
  // Searches one run, or all shown runs where `run` is empty. Fails with not_found for a run that does not exist.
  Expected<producer::FoundJobs> find(Service& service, const std::string& run, const producer::JobFilter& filter);

 private:
  bool is_old(std::int64_t made_ms) const;
  Expected<void> refresh(Service& service);
  producer::Json worker_json(const WorkerStatus& worker, std::int64_t now_ms, LastSeen last_seen) const;
  producer::Json workers_json(std::int64_t now_ms) const;

  const Submitter viewer_;
  std::mutex mutex_;
  std::string text_;
  std::int64_t text_made_ms_ = 0;     // 0: not yet
  std::int64_t running_read_ms_ = 0;  // when the running jobs were read; 0: not yet
  producer::Overview overview_;
};

// The views of all viewers.
class Overviews {
 public:
  // Returns the view of a viewer. It stays valid while the caller holds it.
  std::shared_ptr<View> of(const Submitter& viewer, std::int64_t now_ms);

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<std::int64_t, std::shared_ptr<View>>> views_;  // by submitter: last use, view
};

}  // namespace kq::gateway
