// What the broker remembers of the owners of runs and of the senders of files, so that it seldom reads the store.
//
// Everything here is on disk or among the writes of this turn.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/records.h"

namespace kq::broker {

struct Rights {
  static constexpr std::size_t kOwnersMax = 4'096;
  static constexpr std::size_t kSendersMax = 65'536;

  std::unordered_map<std::string, RunOwner> owners{};  // by run; only those that family owner has
  std::unordered_set<std::string> senders{};           // keys of family sender

  // Called at the beginning of a turn, when everything is on disk.
  void shrink() {
    if (owners.size() > kOwnersMax) owners.clear();
    if (senders.size() > kSendersMax) senders.clear();
  }
};

}  // namespace kq::broker
