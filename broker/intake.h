// The door for submissions: each becomes a new job, is answered with the job of the same key, or is refused with a
// sentence.
#pragma once

#include <string>

#include "broker/state.h"

namespace kq {

Expected<void> submit(Step& step, const std::string& peer, std::uint64_t request_id, const SubmitBatch& batch);

}  // namespace kq
