// What each submitter has in the queue, for quotas: jobs that are not finished, their bytes, and how many different
// requirements they have. And which names of lanes are in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "core/base/check.h"
#include "store/keys.h"

namespace kq::broker {

struct Account {
  std::uint64_t jobs = 0;
  std::uint64_t bytes = 0;
  std::size_t classes = 0;  // different requirements of one submitter's jobs; not counted of all

  friend bool operator==(const Account&, const Account&) = default;
};

class Accounts {
 public:
  void add(const store::LaneId& lane, std::uint32_t bytes) {
    Account& own = accounts_[lane.submitter];
    for (Account* account : {&all_, &own}) {
      account->jobs += 1;
      account->bytes += bytes;
    }
    if (++jobs_n_[pair_of(lane)] > 1) return;
    own.classes += 1;
    ++submitters_n_[lane.needs];
  }
  void remove(const store::LaneId& lane, std::uint32_t bytes) {
    const auto place = accounts_.find(lane.submitter);
    const auto jobs_n = jobs_n_.find(pair_of(lane));
    KQ_CHECK(place != accounts_.end() && jobs_n != jobs_n_.end());
    if (--jobs_n->second == 0) {
      jobs_n_.erase(jobs_n);
      place->second.classes -= 1;
      const auto submitters_n = submitters_n_.find(lane.needs);
      if (--submitters_n->second == 0) submitters_n_.erase(submitters_n);
    }
    for (Account* account : {&all_, &place->second}) {
      KQ_CHECK(account->jobs >= 1 && account->bytes >= bytes);
      account->jobs -= 1;
      account->bytes -= bytes;
    }
    if (place->second.jobs == 0) accounts_.erase(place);
  }

  const Account& all() const { return all_; }
  Account of(std::uint32_t submitter) const {
    const auto place = accounts_.find(submitter);
    return place == accounts_.end() ? Account{} : place->second;
  }
  const std::map<std::uint32_t, Account>& by_submitter() const { return accounts_; }
  // Whether an unfinished job has such requirements, or is of that submitter, or both.
  bool uses_needs(std::uint32_t number) const { return submitters_n_.contains(number); }
  bool uses_submitter(std::uint32_t number) const { return accounts_.contains(number); }
  bool uses(std::uint32_t submitter, std::uint32_t needs) const { return jobs_n_.contains({submitter, needs}); }

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  // submitter, needs

  static Pair pair_of(const store::LaneId& lane) { return {lane.submitter, lane.needs}; }

  Account all_;
  std::map<std::uint32_t, Account> accounts_;          // none empty
  std::map<Pair, std::uint64_t> jobs_n_;               // unfinished ones, none 0
  std::map<std::uint32_t, std::size_t> submitters_n_;  // by needs, none 0
};

}  // namespace kq::broker
