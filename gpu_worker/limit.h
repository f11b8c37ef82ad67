// How long a job may take: what its worker allows, or less where it asks for less.
#pragma once

#include <cstdint>
#include <string>

#include "core/submission.h"

namespace kq {

std::int64_t limit_of(const Submission& submission, std::int64_t workers_ms);

// "120 s", "1500 ms".
std::string limit_text(std::int64_t ms);

}  // namespace kq
