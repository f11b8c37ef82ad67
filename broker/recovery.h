// Rebuilds the broker's state from the store at a start: one scan of the queue's index and one of the timers, whatever
// the number of finished jobs.
#pragma once

#include <cstdint>

#include "broker/core/step.h"
#include "core/base/error.h"

namespace kq::broker {

// Leased jobs keep their leases for one more lease time, so that their workers can reconnect and list them.
Expected<State> recover_state(const store::Store& store, const BrokerOptions& options, std::int64_t now_ms);

// Deletes the names of requirements and submitters that recovery found unused.
void delete_unused_names(Step& step);

}  // namespace kq::broker
