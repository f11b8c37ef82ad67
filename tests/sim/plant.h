// Bugs planted on purpose, to prove that the world would notice them. All are outside the broker: its disk or its link
// misbehaves in the way the bug would look like.
#pragma once

#include "core/enum_names.h"

namespace kq::sim {

enum class Plant {
  none,
  send_before_persist,  // a commit returns before its writes are safe
  torn_commit,          // a crash during a commit leaves half of it
  lease_not_saved,      // the attempt number of a lease stays in RAM
  no_attempt_fencing,   // a result is taken for whatever attempt is current
  no_lease_expiry,      // a lease never ends by itself
  no_dedupe,            // a finished job is not found by its key
};

}  // namespace kq::sim

template <>
inline constexpr std::array<std::string_view, 7> kq::kEnumNames<kq::sim::Plant>{
    "none",     "send_before_persist", "torn_commit", "lease_not_saved", "no_attempt_fencing", "no_lease_expiry",
    "no_dedupe"};
