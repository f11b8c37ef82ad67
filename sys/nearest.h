// Finds the known word that is most similar to a mistyped one, for "did you mean" messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kq::sys {

// Returns the first of the most similar words, or nothing when more than a third of the word's letters differ. An
// added, missing or changed letter counts once, and so do two neighbours in the wrong order.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

}  // namespace kq::sys
