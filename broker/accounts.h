// What each submitter has in the queue, for quotas: jobs that are not finished, and their bytes.
#pragma once

#include <cstdint>
#include <map>

#include "core/check.h"

namespace kq {

struct Account {
  std::uint64_t jobs = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const Account&, const Account&) = default;
};

class Accounts {
 public:
  void add(std::uint32_t submitter, std::uint32_t bytes) {
    for (Account* account : {&all_, &accounts_[submitter]}) {
      account->jobs += 1;
      account->bytes += bytes;
    }
  }
  void remove(std::uint32_t submitter, std::uint32_t bytes) {
    const auto place = accounts_.find(submitter);
    KQ_CHECK(place != accounts_.end());
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

 private:
  Account all_;
  std::map<std::uint32_t, Account> accounts_;  // none empty
};

}  // namespace kq
