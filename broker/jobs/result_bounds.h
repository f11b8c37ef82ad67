// The limits of a result. Texts and lists that are too long are cut, because the rest of the result is still worth
// keeping. A result with values that no correct worker sends is refused, and its attempt counts as failed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/limits.h"
#include "core/result.h"

namespace kq::broker {

inline constexpr std::size_t kSamplesMax = 4 * kTrialsMax;  // of one side; a correct worker sends one a timed trial
// Elements of all arrays and maps of a result in a message, so that any one result fits into a message. A correct
// worker sends at most 1,000 samples of each side for 128 workloads, and about 100 items more for each workload.
inline constexpr std::size_t kResultItemsMax = kMessageItemsTotalMax / 2;

// Returns what is wrong with the result, or nothing.
std::optional<std::string> validation_error(const Result& result);

// Cuts what is too long. Returns whether anything was cut.
bool cut_to_limits(Result& result);

// Returns the front of the text, at most `bytes_max` bytes, without a part of a UTF-8 character at its end.
std::string_view front_of(std::string_view text, std::size_t bytes_max);

}  // namespace kq::broker
