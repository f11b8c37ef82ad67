// What a worker may say of an attempt. Texts that are too long are cut, for the result is worth more than they are;
// what no worker of ours says is refused, and the attempt counts as failed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/limits.h"
#include "core/result.h"

namespace kq::broker {

inline constexpr std::size_t kSamplesMax = 4 * kTrialsMax;  // of one side; one for each timed trial is what there is

// What is wrong with it, or nothing.
std::optional<std::string> complaint_about(const Result& result);

// Whether anything was cut.
bool cut_to_limits(Result& result);

// At most so many bytes of the text from its front, and no part of a UTF-8 character at their end.
std::string_view front_of(std::string_view text, std::size_t bytes_max);

}  // namespace kq::broker
