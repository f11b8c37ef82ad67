// Handles the messages with which workers connect, report that they are alive, and leave.
#pragma once

#include <cstdint>
#include <string>

#include "broker/core/step.h"

namespace kq::broker {

Expected<void> handle_hello(Step& step, const std::string& peer, std::uint64_t request_id, const Hello& hello);
Expected<void> handle_heartbeat(Step& step, const std::string& peer, std::uint64_t request_id,
                                const Heartbeat& heartbeat);
Expected<void> handle_goodbye(Step& step, const std::string& peer, const Goodbye& goodbye);

// Queues the leases again that could not be sent to a worker, and drops its session: the worker must send a new Hello.
Expected<void> requeue_undelivered(Step& step, const Undelivered& undelivered);

// Gives every session, lease and build more time, because the loop was stalled for so long.
void extend_deadlines(Step& step, std::int64_t stalled_ms);

// Drops the sessions that were silent for as long as a lease lasts.
Expected<void> drop_silent_sessions(Step& step);

}  // namespace kq::broker
