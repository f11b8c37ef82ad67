// Counts the unfinished jobs of each submitter, their bytes and their different requirements, for quotas.
//
// Accounts also know which submitters and requirements are in use, so that unused ones can be deleted from the store.
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
  std::size_t classes = 0;  // different requirements of one submitter's jobs; 0 in the account of all

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
    if (++job_count_[pair_of(lane)] > 1) return;
    own.classes += 1;
    ++submitter_count_[lane.needs];
  }
  void remove(const store::LaneId& lane, std::uint32_t bytes) {
    const auto place = accounts_.find(lane.submitter);
    const auto job_count = job_count_.find(pair_of(lane));
    KQ_CHECK(place != accounts_.end() && job_count != job_count_.end());
    if (--job_count->second == 0) {
      job_count_.erase(job_count);
      place->second.classes -= 1;
      const auto submitter_count = submitter_count_.find(lane.needs);
      if (--submitter_count->second == 0) submitter_count_.erase(submitter_count);
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
  // Whether an unfinished job has these requirements, is of this submitter, or both.
  bool uses_needs(std::uint32_t number) const { return submitter_count_.contains(number); }
  bool uses_submitter(std::uint32_t number) const { return accounts_.contains(number); }
  bool uses(std::uint32_t submitter, std::uint32_t needs) const { return job_count_.contains({submitter, needs}); }

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  // submitter, needs

  static Pair pair_of(const store::LaneId& lane) { return {lane.submitter, lane.needs}; }

  Account all_;
  std::map<std::uint32_t, Account> accounts_;             // only those with jobs
  std::map<Pair, std::uint64_t> job_count_;               // unfinished jobs; no count is 0
  std::map<std::uint32_t, std::size_t> submitter_count_;  // by needs; no count is 0
};

}  // namespace kq::broker
