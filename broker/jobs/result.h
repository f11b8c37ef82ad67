// What workers send back. The attempt number decides what counts, however often it comes; and while its lease has a
// holder, only from there.
#pragma once

#include <string>

#include "broker/core/state.h"

namespace kq::broker {

Expected<void> take_results(Step& step, const std::string& peer, std::uint64_t request_id, ResultBatch batch);

}  // namespace kq::broker
