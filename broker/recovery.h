// What a starting broker makes of the store: one scan of the queue's index and of the timers, whatever the number of
// finished jobs.
#pragma once

#include <cstdint>

#include "broker/core/options.h"
#include "broker/core/state.h"
#include "core/base/error.h"

namespace kq::broker {

// Leased jobs wait one lease for their worker to come back and list them.
Expected<State> recovered(const store::Store& store, const BrokerOptions& options, std::int64_t now_ms);

// Strikes the numbers that recovery found to be nobody's.
void forget_unused_names(Step& step);

}  // namespace kq::broker
