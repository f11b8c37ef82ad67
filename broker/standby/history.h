// The epochs of a store. Each time a broker begins to serve with a standby, it begins an epoch: it commits a number one
// higher, the position of its log, and a random tag. A copy of the store has the same epochs up to the commit where
// the two went apart, so the epochs tell whether a store may follow the log of another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace kq::broker {

inline constexpr std::size_t kEpochsMax = 64;  // older epochs are forgotten; a standby of one gets a new copy
// The key of the epochs in Family::meta.
inline constexpr std::string_view kHistoryKey = "epochs";

struct Epoch {
  std::uint64_t number = 0;
  std::uint64_t position = 0;  // the last change before the epoch
  std::uint64_t tag = 0;       // tells two epochs with the same number apart
  std::string holder;          // the broker that began it: host and store

  friend bool operator==(const Epoch&, const Epoch&) = default;
};

class History {
 public:
  // Reads the epochs of a store. A store that never had a standby has none.
  static Expected<History> read(const store::Store& store);
  // The number, the tag and the holder of the last epoch; 0 and empty without one.
  const Epoch& last() const;
  // Whether a store whose last epoch has this number and tag, and whose last change is `position`, had no commit that
  // this history lacks. `end` is this store's own position.
  bool is_ancestor(std::uint64_t number, std::uint64_t tag, std::uint64_t position, std::uint64_t end) const;
  // Commits a new epoch.
  Expected<void> begin(store::Store& store, std::uint64_t number, std::uint64_t tag, const std::string& holder);

  std::string text() const;  // one epoch a line: number, position, tag, holder
  static Expected<History> parse(std::string_view text);

 private:
  std::vector<Epoch> epochs_;  // by number
};

}  // namespace kq::broker
