// Handles the requests with which people manage the queue (core/operations.h).
#pragma once

#include "broker/core/caller.h"
#include "core/messages.h"

namespace kq::broker {

Expected<void> answer(Step& step, const Caller& caller, const CancelJobs& request);
Expected<void> answer(Step& step, const Caller& caller, const RetryJobs& request);
Expected<void> answer(Step& step, const Caller& caller, const PurgeDead& request);
Expected<void> answer(Step& step, const Caller& caller, const Pause& request);
Expected<void> answer(Step& step, const Caller& caller, const Drain& request);
Expected<void> answer(Step& step, const Caller& caller, const Backup& request);

}  // namespace kq::broker
