// Why a queued job does not run yet, for whoever asks.
#pragma once

#include "broker/state.h"
#include "core/messages.h"

namespace kq {

// Fills why, position, ahead, until_ms and served of a queued job's status.
void explain_wait(const State& state, const JobRecord& record, JobStatus& status);

}  // namespace kq
