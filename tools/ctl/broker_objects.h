// Lanes and workers as kq-ctl and kq-top print them: as members of JSON, and as cells of a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/messages.h"
#include "producer/client/json.h"

namespace kq::tools {

producer::JsonObject needs_object(const Requirements& needs);
producer::JsonObject lane_object(const LaneRow& lane);

// Returns a worker with this state.
producer::JsonObject worker_object(const WorkerStatus& worker, const std::string& state);

// Returns "paused", "served" or "no worker".
std::string lane_state(const LaneRow& lane);

// Returns for example "8 x NVIDIA H200", what a worker without devices builds for, and what it no longer uses.
std::string devices_text(const WorkerStatus& worker);

std::vector<std::string> backends_of(const WorkerStatus& worker);

}  // namespace kq::tools
