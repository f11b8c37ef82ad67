// What workers send back. The attempt number decides what counts; whoever sends it and however often.
#pragma once

#include <string>

#include "broker/state.h"

namespace kq {

Expected<void> take_results(Step& step, const std::string& peer, std::uint64_t request_id, ResultBatch batch);

}  // namespace kq
