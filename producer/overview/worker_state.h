// The state of a worker in one word, as the live page and kq-top show it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/messages.h"

namespace kq::producer {

inline constexpr std::int64_t kSilentMs = 15'000;  // a worker that was silent for longer is shown as silent

// Returns the state of a worker: "quarantined", "silent", "draining", "busy" or "idle".
std::string_view state_of(const WorkerStatus& worker, std::int64_t now_ms);

// Returns a number by which the workers that need attention come first.
int rank_of(const WorkerStatus& worker, std::int64_t now_ms);

// Returns the model of a device, or its kind where the model is unknown.
std::string model_of(const DeviceInfo& device);

}  // namespace kq::producer
