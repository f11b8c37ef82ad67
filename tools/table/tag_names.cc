#include "tools/table/tag_names.h"

#include "tools/cli/text.h"

namespace kq::tools {

void TagNames::add(const Submission& submission) {
  for (const auto& [name, value] : submission.tags) {
    is_found_ = is_found_ || name == wanted_;
    if (others_.size() < kOthersMax) others_.insert(name);
  }
}

std::optional<std::string> TagNames::missing() const {
  if (is_found_) return std::nullopt;
  std::string names;
  for (const std::string& name : others_) names += (names.empty() ? "" : ", ") + printable(name);
  return "no kernel has the tag '" + printable(wanted_) + "'" +
         (names.empty() ? "; none has any tag" : "; there are " + names);
}

}  // namespace kq::tools
