// Patterns of names: '*' stands for any characters or none, and every other character, '?' included, stands for itself.
// The harness (harness/facts) writes '?' in place of a part of a name that it cannot derive from the source.
//
//   matches("x.cudaStreamCreate", "*StreamCreate")   true
//   matches("torch.cuda.?", "torch.cuda.?*")         true: the name holds a question mark
//   matches("torch.cuda.x", "torch.cuda.?*")         false
#pragma once

#include <span>
#include <string_view>

namespace kq::guard {

using Patterns = std::span<const std::string_view>;

// Returns whether the whole name fits the pattern. The stars divide a pattern into pieces; the function searches the
// name once for each piece.
bool matches(std::string_view name, std::string_view pattern);
// Returns whether the whole name fits one of the patterns.
bool matches_any(std::string_view name, Patterns patterns);

}  // namespace kq::guard
