// The part of retention (broker/gc/retention.h) that removes files which no job names.
#pragma once

#include <cstdint>

#include "core/base/error.h"

namespace kq::broker {

struct State;
struct Step;

// Returns whether files must be swept: a job was removed since the last sweep, and either many jobs were removed or
// State::options.file_sweep_interval_ms has passed.
bool wants_files_swept(const State& state, std::int64_t now_ms);

// Does one step of the walk over submissions, which adds the files that they name to Retention::named. Returns whether
// the walk is complete.
Expected<bool> collect_named_files(Step& step);
// Does one step of the walk over files, which removes those that are not in Retention::named. Returns whether the walk
// is complete.
Expected<bool> remove_unnamed_files(Step& step);

}  // namespace kq::broker
