// The queued jobs of one submitter at one priority with the same requirements, oldest first.
//
// Only the front of the lane is in RAM, its window; the rest is known to the store's index alone (family queue), so
// memory does not grow with depth. Every job of the lane that is older than the window's end is in the window.
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

// What is warm where: a problem's reference child and inputs are there, from the last job of that problem on.
struct Warmth {
  std::optional<std::uint64_t> own{};  // of the device that wants a job: QueueEntry::problem
  const std::map<std::uint64_t, std::size_t>* devices_n = nullptr;  // by problem, of all workers; null: nobody knows

  bool is_elsewhere(std::uint64_t problem) const {
    return devices_n != nullptr && problem != own && devices_n->contains(problem);
  }
};

struct LaneWindow {
  std::size_t jobs_max = 4'096;
  std::size_t jobs_min = 1'024;  // with fewer and more on disk it wants to be filled up; more than one Tick leases
};

class Lane {
 public:
  static constexpr std::size_t kWindowMax = LaneWindow{}.jobs_max;
  // How far a job may stand behind the head that goes before it for its problem, and how often the head may be passed
  // by in a row.
  static constexpr std::size_t kWarmWindow = 32;
  static constexpr std::uint32_t kPassedByMax = 32;

  struct Waiting {
    Sequence seq = 0;
    std::uint64_t problem = 0;
    std::int64_t submitted_at_ms = 0;  // in a window at most that of the next one: what a job that was brought back
                                       // stands before has waited longer
  };

  explicit Lane(LaneWindow bounds = {}) : bounds_(bounds) {}

  // `waiting` is queued from now on, and in the index with the writes of this turn.
  void add(const Waiting& waiting);
  // It is no longer queued.
  void remove(Sequence seq);

  // The oldest, or null: then nothing is queued, or nothing until the window is filled up.
  const Waiting* head() const { return window_.empty() ? nullptr : &window_.front(); }
  // Close behind the head a job of the problem that the device has warm; else one of a problem that no other device
  // has, so that two do not make the same reference; else the head. There is one.
  Sequence choose(const Warmth& warmth) const;

  bool is_hungry() const { return window_.size() < bounds_.jobs_min && total_ > window_.size(); }
  Sequence window_end() const { return window_end_; }
  // What the index holds from window_end() on, in order; `exhausted`: all of it.
  void refill(std::span<const Waiting> more, bool exhausted);
  // At a restart: the next job of the index, in order.
  void restore(const Waiting& waiting);

  // The first ones of the window, at most so many.
  std::vector<Sequence> front(std::size_t jobs_max) const;

  std::uint64_t size() const { return total_; }
  bool empty() const { return total_ == 0; }
  // Its place from 1; beyond the window an upper bound.
  std::uint64_t position(Sequence seq) const;
  // For invariants: false only if the job is certainly not queued here.
  bool may_hold(Sequence seq) const;

 private:
  static constexpr Sequence kNoRest = std::numeric_limits<Sequence>::max();

  std::deque<Waiting>::const_iterator place(Sequence seq) const;
  void grow_old(std::size_t i);
  void close_window_if_whole();

  LaneWindow bounds_;
  std::deque<Waiting> window_;     // by sequence
  Sequence window_end_ = kNoRest;  // what is at or above it is on disk alone; kNoRest: nothing is
  std::uint64_t total_ = 0;
  std::uint32_t passed_by_ = 0;  // how often its head was
};

}  // namespace kq::broker
