// The name that stands for none.
#pragma once

#include <string_view>

namespace kq {

// An author of this name, and a tag of this name without a value, empty the author and the tags of a row: a submission
// without an author or without tags leaves those of its row as they are.
inline constexpr std::string_view kNoName = "-";

}  // namespace kq
