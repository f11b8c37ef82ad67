// The part of retention (broker/gc/retention.h) that removes files which no job names.
#pragma once

#include <cstdint>

#include "core/base/error.h"

namespace kq::broker {

struct State;
struct Step;

// Enough jobs went since the last time.
bool wants_files_swept(const State& state, std::int64_t now_ms);

// A step of each walk. Both give whether it was the last.
Expected<bool> name_some(Step& step);
Expected<bool> remove_some_files(Step& step);

}  // namespace kq::broker
