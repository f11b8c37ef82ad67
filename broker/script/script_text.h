// What a step of the broker wants, as the lines of a script show it.
#pragma once

#include <cstdint>
#include <string>

#include "broker/core/event.h"
#include "store/store.h"

namespace kq::broker {

inline constexpr std::int64_t kStartMs = 1'000'000;  // of every script; times are shown from there

std::string shown(const store::Write& write);
std::string shown(const Send& send);

}  // namespace kq::broker
