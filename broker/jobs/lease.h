// Leases end by themselves at the beginning of a turn; at its end queued jobs go to workers with credit.
#pragma once

#include <cstddef>
#include <optional>

#include "broker/core/state.h"

namespace kq::broker {

// Fills the lanes' windows up from the index. First in a turn: nothing that is queued has changed since the last
// commit.
Expected<void> refill_windows(Step& step);

// Ends the leases whose deadline has passed: a job that kills its worker must come to an end as well.
Expected<void> expire_leases(Step& step);

// Whether the worker may be given something now: it has credit, is not quiet, does not rest and does not drain.
bool has_room(const Step& step, const Session& session);

// Everything a worker needs for the job, but for the attempt and the device. Nothing if the store has lost a file,
// which no attempt would find: then the job is abandoned.
Expected<std::optional<Lease>> lease_for(Step& step, Job& job);
std::size_t bytes_of(const Lease& lease);

// Leases queued jobs as long as a worker has credit and a device for one. What this needs and the store does not have
// yet, because it came in this turn, is in RAM.
Expected<void> dispatch(Step& step);

}  // namespace kq::broker
