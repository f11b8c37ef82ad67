// Patterns of names: '*' stands for any characters, and every other character, '?' included, stands for itself. The
// harness writes '?' where it cannot tell a part of a name.
//
//   matches("x.cudaStreamCreate", "*StreamCreate")   true
//   matches("torch.cuda.?", "torch.cuda.?*")         true: the name holds a question mark
//   matches("torch.cuda.x", "torch.cuda.?*")         false
#pragma once

#include <span>
#include <string_view>

namespace kq::guard {

using Patterns = std::span<const std::string_view>;

// Returns whether the whole name fits the pattern, in a time linear in the length of the name for each piece of the
// pattern.
bool matches(std::string_view name, std::string_view pattern);
bool matches_any(std::string_view name, Patterns patterns);

}  // namespace kq::guard
