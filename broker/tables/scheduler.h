// Which queued job next? Four rules, in this order:
//
//   priority, with ageing  A priority is a head start of kHeadStartMs: a high job goes before a normal one unless that
//   one was submitted
//                          so much earlier. Nothing starves.
//   fair share             Among submitters of that priority, whoever got the least so far (start-time fair queueing,
//   one unit a lease:
//                          Goyal, Vin, Cheng, SIGCOMM 1996): a flood of one delays another by at most one job. What was
//                          got where others had no jobs, or from other workers, counts for one lease at most: nobody is
//                          ahead of whoever is chosen by more than that.
//   age                    Of that submitter's jobs the oldest that can run here.
//   warmth                 ... or one close behind it of the problem that the worker's device has warm, or of one that
//   no other device
//                          has (broker/tables/queue_lane.h).
//
// All of it is RAM; what is queued beyond the lanes' windows lies in the store's index.
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

// A worker that asks for a job.
struct Offer {
  std::span<const DeviceInfo> devices;
  std::span<const std::string> labels{};  // sorted
  std::span<const Backend> backends{};    // empty: all
  bool cpu_takes_any = true;              // false while a free GPU elsewhere would take the jobs that run anywhere
};

// Whether the worker has what the jobs ask for beside a device.
bool has(const Offer& offer, const Requirements& needs);
// Whether this worker should run such jobs on that device, now.
bool fits(const Offer& offer, const DeviceInfo& device, const Requirements& needs);

class Scheduler {
 public:
  static constexpr std::int64_t kHeadStartMs = 600'000;

  using Place = store::QueuePlace;

  explicit Scheduler(LaneWindow window = {}) : window_(window) {}

  // The numbers that lanes are named by.
  Numbering<Requirements> classes;
  Numbering<std::string> submitters;

  void add(const store::LaneId& lane, const Lane::Waiting& waiting);
  void restore(const store::LaneId& lane, const Lane::Waiting& waiting);  // at a restart, in the order of the index
  void remove(const store::LaneId& lane, Sequence seq);
  void refill(const store::LaneId& lane, std::span<const Lane::Waiting> more, bool exhausted);

  // What is warm on the device that would get a job of such a lane; empty: nobody knows.
  using WarmthFor = std::function<Warmth(const Requirements&)>;
  // The job that should run next on one of the offered devices. It stays queued until removed.
  std::optional<Place> choose(const Offer& offer, const WarmthFor& warmth_for = {});
  // A lease was granted to one of this submitter's jobs.
  void charge(std::uint32_t submitter);

  void pause(std::uint32_t submitter, bool paused);
  // What was kept of submitters whose numbers name nobody any more.
  void forget_nameless();

  // Lanes whose windows want to be filled up.
  const std::set<store::LaneId>& hungry() const { return hungry_; }

  const Lane* find(const store::LaneId& lane) const;
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // For answers and invariants, in no order of importance.
  struct Entry {
    Lane lane;
    // Under what it stands in its group's lists, while it does.
    std::optional<std::pair<std::uint64_t, std::int64_t>> listed{};  // share, submitted_at_ms of its head
  };
  const std::map<store::LaneId, Entry>& lanes() const { return lanes_; }

 private:
  // Lanes with a head, of submitters that are not paused.
  struct Group {
    std::set<std::pair<std::uint64_t, std::uint32_t>> by_share;  // share, submitter
    std::set<std::pair<std::int64_t, std::uint32_t>> by_age;     // submitted_at_ms of the head, submitter
  };
  using GroupId = std::pair<Priority, std::uint32_t>;  // and class
  struct Submitter {
    std::uint64_t share = 0;  // got so far, in leases; of one that comes back at least what the others have
    bool paused = false;
    std::set<store::LaneId> lanes{};  // that are not empty
  };

  Entry& entry(const store::LaneId& lane);
  void list(const store::LaneId& id, Entry& entry);
  void unlist(const store::LaneId& id, Entry& entry);
  void settle(const store::LaneId& id);
  void level(std::uint32_t submitter, std::uint64_t share);

  LaneWindow window_;  // of every lane
  std::map<store::LaneId, Entry> lanes_;
  std::map<GroupId, Group> groups_;  // none empty
  std::map<std::uint32_t, Submitter> shares_;
  std::set<store::LaneId> hungry_;
  std::uint64_t share_now_ = 0;  // of the submitter charged last: where one that comes back begins
  std::uint64_t size_ = 0;
};

}  // namespace kq::broker
