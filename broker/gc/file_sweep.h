// The part of retention (broker/gc/retention.h) that removes files which no job names.
#pragma once

#include <cstdint>

#include "core/base/error.h"

namespace kq::broker {

struct State;
struct Step;

// Returns whether enough jobs were removed, or enough time has passed, since the last sweep.
bool wants_files_swept(const State& state, std::int64_t now_ms);

// One step of the walk over submissions, and one of the walk over files. Each returns whether its walk is complete.
Expected<bool> collect_named_files(Step& step);
Expected<bool> remove_unnamed_files(Step& step);

}  // namespace kq::broker
