// Clients whose question is to be answered when a job of theirs is finished: StatusQuery with `wait_ms`.
//
// Owned by Broker. Nothing of it is on disk: after a restart whoever waited asks again. A watcher leaves when it is
// answered, which is in the turn that finishes the first of its jobs, or at its time. What finds no room here is
// answered at once, and asks again like any client that does not know of waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/job.h"

namespace kq::broker {

struct Watcher {
  std::string peer;
  std::uint64_t request_id = 0;
  std::vector<Sequence> seqs;  // none of them finished; as they were asked for
  std::int64_t until_ms = 0;
};

class Watchers {
 public:
  Watchers(std::size_t watchers_max, std::size_t jobs_max) : watchers_max_(watchers_max), jobs_max_(jobs_max) {}

  // False where there is no room. A request that is repeated takes the place of the first.
  bool add(Watcher watcher);
  // Forgets this request, if it is known.
  void drop(const std::string& peer, std::uint64_t request_id);
  // The job is finished: whoever watches it is due.
  void finished(Sequence seq);
  // Those that are due, in the order in which they came, are here no more.
  std::vector<Watcher> take_due(std::int64_t now_ms);

  std::optional<std::int64_t> next_ms() const;  // the time of the first that is not due
  std::size_t size() const { return watchers_.size(); }
  // For invariants: jobs that somebody watches who is not due.
  std::vector<Sequence> watched() const;

 private:
  using Number = std::uint64_t;  // counts watchers
  void remove(Number number);

  std::size_t watchers_max_;
  std::size_t jobs_max_;  // of all watchers together
  std::size_t jobs_n_ = 0;
  Number last_ = 0;
  std::map<Number, Watcher> watchers_;
  std::map<std::pair<std::string, std::uint64_t>, Number> by_request_;
  std::set<std::pair<Sequence, Number>> by_job_;
  std::set<std::pair<std::int64_t, Number>> by_time_;
  std::set<Number> due_;
};

}  // namespace kq::broker
