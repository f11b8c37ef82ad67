// The queued jobs of one submitter at one priority with the same requirements, oldest first.
//
// Only the front of a lane, its window, is in memory. The rest is in the store's index (family queue), so memory does
// not grow with the depth of the queue. Every job of the lane with a sequence below window_end() is in the window.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/job.h"

namespace kq::broker {

// On which devices a problem is warm. A device on which a job of the problem ran last has its reference child and
// inputs.
struct Warmth {
  std::optional<std::uint64_t> own{};  // the warm problem of the device that wants a job
  // How many devices of all workers have each problem warm. Null if that is not known.
  const std::map<std::uint64_t, std::size_t>* device_counts = nullptr;

  bool is_warm_elsewhere(std::uint64_t problem) const {
    return device_counts != nullptr && problem != own && device_counts->contains(problem);
  }
};

struct LaneWindow {
  std::size_t jobs_max = 4'096;
  std::size_t jobs_min = 1'024;  // a shorter window is refilled; one Tick leases fewer
};

class Lane {
 public:
  static constexpr std::size_t kWindowMax = LaneWindow{}.jobs_max;
  // A job may overtake the head for a warm problem from at most this many places behind, and the head may be overtaken
  // at most so often in a row.
  static constexpr std::size_t kWarmWindow = 32;
  static constexpr std::uint32_t kOvertakenMax = 32;

  struct QueuedJob {
    Sequence seq = 0;
    std::uint64_t problem = 0;
    // Ascending within a window: a job that was queued again counts as old as the jobs behind it.
    std::int64_t submitted_at_ms = 0;
  };

  explicit Lane(LaneWindow bounds = {}) : bounds_(bounds) {}

  // Adds a job that the writes of this turn put into the index.
  void add(const QueuedJob& job);
  void remove(Sequence seq);

  // The oldest job. Null if no job is queued, or if the window must be refilled first.
  const QueuedJob* head() const { return window_.empty() ? nullptr : &window_.front(); }
  // Chooses the next job for a device, among the head and the jobs close behind it: a job whose problem is warm on the
  // device; else one whose problem is warm on no other device, so that two devices do not run the same reference; else
  // the head. The window must not be empty.
  Sequence choose(const Warmth& warmth) const;

  bool needs_refill() const { return window_.size() < bounds_.jobs_min && total_ > window_.size(); }
  Sequence window_end() const { return window_end_; }
  // Adds the next jobs of the index from window_end() on, in order. `exhausted` says that the index has no more.
  void refill(std::span<const QueuedJob> more, bool exhausted);
  // Adds the next job of the index, at a restart.
  void restore(const QueuedJob& job);

  // The first jobs of the window.
  std::vector<Sequence> front(std::size_t jobs_max) const;

  std::uint64_t size() const { return total_; }
  bool empty() const { return total_ == 0; }
  // The place of the job, from 1. Beyond the window it is an upper bound.
  std::uint64_t position(Sequence seq) const;
  // Returns false only if the job is certainly not in this lane. For invariants.
  bool may_hold(Sequence seq) const;

 private:
  static constexpr Sequence kNoRest = std::numeric_limits<Sequence>::max();

  std::deque<QueuedJob>::const_iterator place(Sequence seq) const;
  void age_predecessors(std::size_t i);
  void close_window_if_whole();

  LaneWindow bounds_;
  std::deque<QueuedJob> window_;   // in the order of sequences
  Sequence window_end_ = kNoRest;  // jobs at or above it are only on disk; kNoRest if there are none
  std::uint64_t total_ = 0;
  std::uint32_t overtaken_count_ = 0;  // how often the head was overtaken in a row
};

}  // namespace kq::broker
