// Handles the results and failures that workers send. Only the current attempt of a job counts, however often its
// result arrives, and while a session has the lease only that session's result counts.
#pragma once

#include <cstdint>
#include <string>

#include "broker/core/step.h"

namespace kq::broker {

Expected<void> handle_results(Step& step, const std::string& peer, std::uint64_t request_id, ResultBatch batch);

}  // namespace kq::broker
