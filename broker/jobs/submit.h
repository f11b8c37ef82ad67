// Handles submissions. Each one becomes a new job, is answered with the job of the same key, is refused with a reason,
// or is answered `busy` because a quota, the queue or the disk is full.
#pragma once

#include "broker/core/caller.h"
#include "core/messages.h"

namespace kq::broker {

// Moves the bytes of the blobs out of the batch.
Expected<void> answer(Step& step, const Caller& caller, SubmitBatch&& batch);

}  // namespace kq::broker
