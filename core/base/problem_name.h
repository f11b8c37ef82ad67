// Names of problems as people write them.
#pragma once

#include <string_view>

namespace kq {

// Returns whether a person means this problem: the text is its name, or the last part of its name. "19_ReLU" and
// "level1/19_ReLU" both mean the problem level1/19_ReLU.
constexpr bool is_meant_by(std::string_view problem, std::string_view written) {
  if (!problem.ends_with(written) || written.empty()) return false;
  return problem.size() == written.size() || problem[problem.size() - written.size() - 1] == '/';
}

}  // namespace kq
