// The version of kq itself.
#pragma once

#include <string_view>

namespace kq {
inline constexpr std::string_view kVersion = "0.2.0";
}  // namespace kq
