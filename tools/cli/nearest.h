// "Did you mean": the known word that lies nearest to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kq::tools {

// The first of the nearest words, when at most a third of its letters have to change, be added or be left out; two
// neighbours that changed places count as one.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

}  // namespace kq::tools
