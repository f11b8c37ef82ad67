// Reads the jobs that will be leased next.
//
// In a deep queue every lease is of a job that was submitted long ago, so its record, its submission and its files are
// only on disk. The store holds them in the order of the leases, and reading many at once costs less than one by one.
#pragma once

#include <cstddef>

#include "broker/core/step.h"
#include "store/keys.h"

namespace kq::broker {

// Reads the first jobs of the lane into memory, at most `jobs_max`, unless they are there. Jobs and files that the
// store has lost are skipped: the code that needs them reports the loss.
Expected<void> read_ahead(Step& step, const store::LaneId& lane, std::size_t jobs_max);

}  // namespace kq::broker
