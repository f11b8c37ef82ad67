#include "broker/tables/queue_lane.h"

#include <algorithm>

#include "core/base/check.h"

namespace kq::broker {

void Lane::add(const QueuedJob& job) {
  ++total_;
  if (job.seq >= window_end_) return;
  const auto at = place(job.seq);
  KQ_CHECK(at == window_.end() || at->seq != job.seq);
  const auto i = static_cast<std::size_t>(at - window_.begin());
  window_.insert(at, job);
  if (i + 1 < window_.size())
    window_[i].submitted_at_ms = std::min(window_[i].submitted_at_ms, window_[i + 1].submitted_at_ms);
  age_predecessors(i);
  if (window_.size() <= bounds_.jobs_max) return;
  window_end_ = window_.back().seq;
  window_.pop_back();
}

void Lane::remove(Sequence seq) {
  KQ_CHECK(total_ > 0);
  --total_;
  const auto at = place(seq);
  if (at != window_.end() && at->seq == seq) {
    if (at == window_.begin()) {
      overtaken_count_ = 0;
    } else {
      ++overtaken_count_;
    }
    window_.erase(at);
  }
  close_window_if_whole();
}

Sequence Lane::choose(const Warmth& warmth) const {
  KQ_CHECK(!window_.empty());
  const Sequence head = window_.front().seq;
  if (overtaken_count_ >= kOvertakenMax) return head;
  const auto end = window_.begin() + static_cast<std::ptrdiff_t>(std::min(kWarmWindow, window_.size()));
  auto found = end;
  if (warmth.own)
    found = std::find_if(window_.begin(), end, [&](const QueuedJob& job) { return job.problem == *warmth.own; });
  if (found == end)
    found = std::find_if(window_.begin(), end,
                         [&](const QueuedJob& job) { return !warmth.is_warm_elsewhere(job.problem); });
  return found == end ? head : found->seq;
}

void Lane::refill(std::span<const QueuedJob> more, bool exhausted) {
  for (const QueuedJob& job : more) {
    KQ_CHECK(job.seq >= window_end_);
    window_.push_back(job);
    age_predecessors(window_.size() - 1);
    window_end_ = job.seq + 1;
  }
  KQ_CHECK(window_.size() <= total_);
  if (exhausted) close_window_if_whole();
}

std::vector<Sequence> Lane::front(std::size_t jobs_max) const {
  std::vector<Sequence> seqs;
  for (const QueuedJob& job : window_) {
    if (seqs.size() >= jobs_max) break;
    seqs.push_back(job.seq);
  }
  return seqs;
}

void Lane::restore(const QueuedJob& job) {
  ++total_;
  if (window_end_ != kNoRest) return;
  if (window_.size() < bounds_.jobs_max) {
    window_.push_back(job);
    age_predecessors(window_.size() - 1);
  } else {
    window_end_ = job.seq;
  }
}

std::uint64_t Lane::position(Sequence seq) const {
  if (seq >= window_end_) return std::min<std::uint64_t>(total_, window_.size() + (seq - window_end_) + 1);
  return static_cast<std::uint64_t>(place(seq) - window_.begin()) + 1;
}

bool Lane::may_hold(Sequence seq) const {
  if (seq >= window_end_) return total_ > window_.size();
  const auto at = place(seq);
  return at != window_.end() && at->seq == seq;
}

std::deque<Lane::QueuedJob>::const_iterator Lane::place(Sequence seq) const {
  return std::lower_bound(window_.begin(), window_.end(), seq,
                          [](const QueuedJob& job, Sequence wanted) { return job.seq < wanted; });
}

// Makes the jobs before place `i` count as at least as old as that job, because the head's age decides when the lane is
// served: no job behind the head may have waited longer than the head's age says.
void Lane::age_predecessors(std::size_t i) {
  for (; i > 0 && window_[i - 1].submitted_at_ms > window_[i].submitted_at_ms; --i)
    window_[i - 1].submitted_at_ms = window_[i].submitted_at_ms;
}

void Lane::close_window_if_whole() {
  if (total_ == window_.size()) window_end_ = kNoRest;
}

}  // namespace kq::broker
