// What each submitter has in the queue, for quotas: jobs that are not finished, and their bytes. And which names of lanes are in use.
#pragma once

#include <cstdint>
#include <map>

#include "core/check.h"
#include "store/keys.h"

namespace kq {

struct Account {
  std::uint64_t jobs = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const Account&, const Account&) = default;
};

class Accounts {
 public:
  void add(const LaneId& lane, std::uint32_t bytes) {
    for (Account* account : {&all_, &accounts_[lane.submitter]}) {
      account->jobs += 1;
      account->bytes += bytes;
    }
    ++of_needs_[lane.needs];
  }
  void remove(const LaneId& lane, std::uint32_t bytes) {
    const auto place = accounts_.find(lane.submitter);
    const auto needs = of_needs_.find(lane.needs);
    KQ_CHECK(place != accounts_.end() && needs != of_needs_.end());
    if (--needs->second == 0) of_needs_.erase(needs);
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
  // Whether an unfinished job has such requirements, or is of that submitter.
  bool uses_needs(std::uint32_t number) const { return of_needs_.contains(number); }
  bool uses_submitter(std::uint32_t number) const { return accounts_.contains(number); }

 private:
  Account all_;
  std::map<std::uint32_t, Account> accounts_;  // none empty
  std::map<std::uint32_t, std::uint64_t> of_needs_;  // unfinished jobs, none 0
};

}  // namespace kq
