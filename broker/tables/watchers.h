// Status queries that are answered only when one of their jobs finishes or their time is over (StatusQuery::wait_ms).
//
// A watcher is answered in the turn that finishes the first of its jobs, or at its time. A query for which there is no
// room is answered at once, and its client asks again. Nothing of this is on disk: after a restart clients ask again.
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
  std::vector<Sequence> seqs;  // none of them is finished; in the order of the query
  std::int64_t until_ms = 0;
};

class Watchers {
 public:
  Watchers(std::size_t watchers_max, std::size_t jobs_max) : watchers_max_(watchers_max), jobs_max_(jobs_max) {}

  // Returns false if there is no room. A repeated request replaces the first one.
  bool add(Watcher watcher);
  // Drops this request, if it is known.
  void drop(const std::string& peer, std::uint64_t request_id);
  // Makes the watchers of a finished job due.
  void job_finished(Sequence seq);
  // Removes the watchers that are due and returns them, in the order of their arrival.
  std::vector<Watcher> take_due(std::int64_t now_ms);

  std::optional<std::int64_t> next_ms() const;  // the earliest time at which a watcher becomes due
  std::size_t size() const { return watchers_.size(); }
  // The jobs of the watchers that are not due. For invariants.
  std::vector<Sequence> watched() const;

 private:
  using Number = std::uint64_t;  // numbers the watchers by arrival
  void remove(Number number);

  std::size_t watchers_max_;
  std::size_t jobs_max_;  // of all watchers together
  std::size_t job_count_ = 0;
  Number last_ = 0;
  std::map<Number, Watcher> watchers_;
  std::map<std::pair<std::string, std::uint64_t>, Number> by_request_;
  std::set<std::pair<Sequence, Number>> by_job_;
  std::set<std::pair<std::int64_t, Number>> by_time_;
  std::set<Number> due_;
};

}  // namespace kq::broker
