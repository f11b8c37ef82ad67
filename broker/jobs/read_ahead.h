// Beside a deep queue every lease is of a job that came long ago: its record, its submission and its files are on disk.
// They lie there in the order of the leases, and are read for as many jobs at once as will be leased next.
#pragma once

#include <cstddef>

#include "broker/core/state.h"
#include "store/keys.h"

namespace kq::broker {

// Brings the first jobs of the lane into RAM, at most `jobs_max`, unless they are there. What the store has lost is
// left to whoever asks for it.
Expected<void> read_ahead(Step& step, const store::LaneId& lane, std::size_t jobs_max);

}  // namespace kq::broker
