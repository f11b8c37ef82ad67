// Workers come, say that they are alive, and go.
#pragma once

#include <cstdint>
#include <string>

#include "broker/core/state.h"

namespace kq::broker {

Expected<void> greet(Step& step, const std::string& peer, std::uint64_t request_id, const Hello& hello);
Expected<void> heartbeat(Step& step, const std::string& peer, std::uint64_t request_id, const Heartbeat& heartbeat);
Expected<void> farewell(Step& step, const std::string& peer, const Goodbye& goodbye);

// What could not be sent to `peer` was never begun: its leases go back to the queue, and the session waits for a new
// Hello.
Expected<void> take_back(Step& step, const Undelivered& undelivered);

// The broker was away for so long: every session, lease and build has as much more time.
void excuse_all(Step& step, std::int64_t away_ms);

// Forgets sessions that were silent for as long as a lease lasts, and says when the next one will be.
Expected<void> forget_silent(Step& step);

}  // namespace kq::broker
