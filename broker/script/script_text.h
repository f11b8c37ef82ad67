// Shows writes and messages of the broker as lines of a script.
#pragma once

#include <cstdint>
#include <string>

#include "broker/core/event.h"
#include "store/store.h"

namespace kq::broker {

// The time at which every script starts. Times are shown relative to it.
inline constexpr std::int64_t kStartMs = 1'000'000;

std::string shown(const store::Write& write);
std::string shown(const Send& send);

}  // namespace kq::broker
