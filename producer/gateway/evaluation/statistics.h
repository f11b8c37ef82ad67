// The bodies of GET /health and GET /stats, made from the broker's state and metrics.
#pragma once

#include <cstdint>

#include "core/messages.h"
#include "producer/client/json.h"

namespace kq::gateway::evaluation {

// `gpu_available` and `gpu_count` say what the original's manual promises and its code leaves out.
producer::Json health_body(const BrokerReply& broker, const StatsReply& statistics, std::int64_t now_ms);

// The broker counts for all its clients since it started. What it does not count is 0.
producer::Json stats_body(const BrokerReply& broker, const StatsReply& statistics, std::int64_t now_ms,
                          std::int64_t started_ms);

}  // namespace kq::gateway::evaluation
