// Which tags the submissions of rows have, for the sentence about a wanted tag that none of them has.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "core/submission.h"

namespace kq::tools {

class TagNames {
 public:
  // `wanted` is the name of a tag, without the prefix of its column.
  explicit TagNames(std::string wanted) : wanted_(std::move(wanted)) {}

  void add(const Submission& submission);
  // Returns a sentence that lists the tags of the submissions, where none of these has the wanted one.
  std::optional<std::string> missing() const;

 private:
  static constexpr std::size_t kOthersMax = 20;  // further tags are not listed

  std::string wanted_;
  bool is_found_ = false;
  std::set<std::string> others_;
};

}  // namespace kq::tools
