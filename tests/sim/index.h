// Checks that the indexes on disk (the queue, the timers and the dead letters) agree with the records of the jobs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/records.h"
#include "store/store.h"

namespace kq::sim {

// Whether only retention may remove keys of the family, because acknowledged data depends on them.
bool is_permanent(store::Family family);

// Returns the first error, or nothing. `is_dead` says which finished jobs must be among the dead letters.
std::optional<std::string> validate_indexes(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk,
                                            const std::function<bool(Sequence)>& is_dead);

}  // namespace kq::sim
