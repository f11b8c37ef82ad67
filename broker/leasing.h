// Leases end by themselves, and queued jobs go to workers with credit. All of it happens in a Tick, when all earlier
// writes are on disk.
#pragma once

#include "broker/state.h"

namespace kq {

// Fills the lanes' windows up from the index. First in a Tick: nothing that is queued has changed since the last commit.
Expected<void> refill_windows(Step& step);

// Ends the leases whose deadline has passed: a job that kills its worker must come to an end as well.
Expected<void> expire_leases(Step& step);

// Leases queued jobs as long as a worker has credit and a device for one.
Expected<void> dispatch(Step& step);

}  // namespace kq
