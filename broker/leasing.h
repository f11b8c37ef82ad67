// Leases end by themselves, and queued jobs go to workers with credit. Both happen in a Tick, when all earlier writes
// are on disk.
#pragma once

#include "broker/state.h"

namespace kq {

// Ends the leases whose deadline has passed: a job that kills its worker must come to an end as well.
Expected<void> expire(Step& step);

// Leases queued jobs as long as a worker has credit and a device for one.
Expected<void> dispatch(Step& step);

}  // namespace kq
