// Leasing: at the end of a turn queued jobs go to workers with credit; at the beginning of a turn overdue leases
// expire.
#pragma once

#include <cstddef>
#include <optional>

#include "broker/core/step.h"

namespace kq::broker {

// Refills the lanes' windows from the store's index. It must be called before anything in this turn changes what is
// queued, because the store shows the index of the last commit.
Expected<void> refill_windows(Step& step);

// Ends the leases whose deadline has passed. Each counts as a failure, so that a job that kills its worker comes to an
// end as well.
Expected<void> expire_leases(Step& step);

// Returns whether the worker may get jobs now: it has credit, has sent a message recently, does not back off after a
// failure, and does not drain.
bool may_receive_jobs(const Step& step, const Session& session);

// Returns everything that a worker needs for the job, except the attempt and the device. Returns nothing if the store
// has lost a file: no attempt would find it, so the job is abandoned.
Expected<std::optional<Lease>> lease_for(Step& step, const Job& job);
std::size_t bytes_of(const Lease& lease);

// Leases queued jobs while a worker has credit and a device for one. Jobs and files of this turn, which the store does
// not have yet, are in memory.
Expected<void> dispatch(Step& step);

}  // namespace kq::broker
