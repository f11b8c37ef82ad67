// The door for submissions: each becomes a new job, is answered with the job of the same key, is refused with a
// sentence, or must come again later because a quota, the queue or the disk is full.
#pragma once

#include "broker/core/caller.h"
#include "core/messages.h"

namespace kq::broker {

// Takes the bytes of the blobs out of the batch.
Expected<void> answer(Step& step, const Caller& caller, SubmitBatch&& batch);

}  // namespace kq::broker
