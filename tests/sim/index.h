// Whether the store's indexes say of the jobs what their records say: the queue, the timers, the dead letters.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/records.h"
#include "store/store.h"

namespace kq::sim {

// The families whose keys nothing but retention removes: what they hold was promised.
bool is_for_ever(store::Family family);

// What is wrong, or nothing. `is_dead` knows which finished jobs nobody has dealt with.
std::optional<std::string> complaint_about_indexes(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk,
                                                   const std::function<bool(Sequence)>& is_dead);

}  // namespace kq::sim
