// What the oracle and the index checks say about a job in their error texts.
#pragma once

#include <string>

#include "core/records.h"

namespace kq::sim {

// Returns "job 7".
std::string text_of(Sequence seq);
// Returns "job 7 (leased, attempt 2)".
std::string text_of(const JobRecord& job);

// Whether the job is queued and may not be leased before its not_before_ms.
bool is_delayed(const JobRecord& job);

}  // namespace kq::sim
