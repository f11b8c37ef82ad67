// Decides which queued job runs next, by five rules in this order:
//
//   priority    A priority is a head start of kHeadStartMs: a job of high priority goes before one of normal priority
//               unless that one was submitted so much earlier. So no job waits for ever.
//   quick       Jobs that compile no extensions of torch, while the worker has so many leases of jobs that do that it
//               needs room for quick builds (Session::prefers_quick). Otherwise they would wait for slow builds.
//   fair share  Among the submitters at that priority, the one that got the fewest leases so far (start-time fair
//               queueing with one unit a lease: Goyal, Vin, Cheng, SIGCOMM 1996). A flood of one submitter delays
//               another by at most one job. Leases that a submitter got where the others had no jobs, or on other
//               workers, count as one lease at most: no submitter is further ahead of the chosen one.
//   age         Of that submitter's jobs, the oldest one that can run on the worker.
//   warmth      ... or one close behind it whose problem is warm on the worker's device, or warm on no other device
//               (broker/tables/queue_lane.h).
//
// The scheduler is in memory. Queued jobs beyond the lanes' windows are only in the store's index.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "broker/tables/numbering.h"
#include "broker/tables/queue_lane.h"
#include "core/device.h"
#include "store/keys.h"

namespace kq::broker {

// What a worker offers when it asks for a job.
struct Offer {
  std::span<const DeviceInfo> devices;
  std::span<const std::string> labels{};  // sorted
  std::span<const Backend> backends{};    // empty: all
  bool cpu_takes_any = true;   // false while a free GPU of another worker would take the jobs that run on any device
  bool prefers_quick = false;  // jobs that compile extensions of torch go after all others of their priority
};

// Returns whether the worker has the labels and the backend that the jobs need.
bool has(const Offer& offer, const Requirements& needs);
// Returns whether the builds of such jobs compile extensions of torch, which takes seconds to minutes.
bool is_slow_to_build(const Requirements& needs);
// Returns whether the worker should run such jobs on this device now.
bool fits(const Offer& offer, const DeviceInfo& device, const Requirements& needs);

class Scheduler {
 public:
  static constexpr std::int64_t kHeadStartMs = 600'000;

  using Place = store::QueuePlace;

  explicit Scheduler(LaneWindow window = {}) : window_(window) {}

  // The numbers by which lanes name requirements and submitters.
  Numbering<Requirements> classes;
  Numbering<std::string> submitters;

  void add(const store::LaneId& lane, const Lane::QueuedJob& job);
  // Adds a job at a restart, in the order of the index.
  void restore(const store::LaneId& lane, const Lane::QueuedJob& job);
  void remove(const store::LaneId& lane, Sequence seq);
  void refill(const store::LaneId& lane, std::span<const Lane::QueuedJob> more, bool exhausted);

  // Returns what is warm on the device that would get a job with these requirements. An empty function means unknown.
  using WarmthFor = std::function<Warmth(const Requirements&)>;
  // Returns the job that should run next on one of the offered devices, or nothing. The job stays queued.
  std::optional<Place> choose(const Offer& offer, const WarmthFor& warmth_for = {});
  // Counts a lease that was granted to one of this submitter's jobs.
  void charge(std::uint32_t submitter);

  void pause(std::uint32_t submitter, bool paused);
  // Drops the shares of submitters whose numbers were released.
  void drop_released_submitters();

  // The lanes whose windows need a refill.
  const std::set<store::LaneId>& lanes_to_refill() const { return lanes_to_refill_; }

  const Lane* find(const store::LaneId& lane) const;
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  struct Entry {
    Lane lane;
    // The share and the head's submitted_at_ms under which the lane is in its group's lists; empty if it is in none.
    std::optional<std::pair<std::uint64_t, std::int64_t>> listed{};
  };
  // For replies and invariants.
  const std::map<store::LaneId, Entry>& lanes() const { return lanes_; }

 private:
  // The lanes of one priority and class that have a head and whose submitter is not paused.
  struct Group {
    std::set<std::pair<std::uint64_t, std::uint32_t>> by_share;  // share, submitter
    std::set<std::pair<std::int64_t, std::uint32_t>> by_age;     // submitted_at_ms of the head, submitter
  };
  using GroupId = std::pair<Priority, std::uint32_t>;  // priority, class
  struct Submitter {
    std::uint64_t share = 0;  // leases so far; a submitter that returns starts with at least the share of the others
    bool paused = false;
    std::set<store::LaneId> lanes{};  // its lanes that are not empty
  };

  Entry& entry(const store::LaneId& lane);
  void list(const store::LaneId& id, Entry& entry);
  void unlist(const store::LaneId& id, Entry& entry);
  void update_lists(const store::LaneId& id);
  void set_share(std::uint32_t submitter, std::uint64_t share);

  LaneWindow window_;  // of every lane
  std::map<store::LaneId, Entry> lanes_;
  std::map<GroupId, Group> groups_;  // only those with lanes
  std::map<std::uint32_t, Submitter> shares_;
  std::set<store::LaneId> lanes_to_refill_;
  std::uint64_t share_now_ = 0;  // share of the submitter charged last: where a submitter that returns starts
  std::uint64_t size_ = 0;
};

}  // namespace kq::broker
