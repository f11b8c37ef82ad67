// The name of a submitter's own share for one run.
//
// Submitters have equal shares of a queue. A kq sweep beside other jobs of its submitter USER@HOST submits as
// USER@HOST/RUN, so that its run takes turns with those jobs. Rows and boards name the submitter alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kq {

inline std::string own_share_name(std::string_view submitter, std::string_view run) {
  return std::string(submitter).append("/").append(run);
}

// Returns the submitter, USER@HOST, whose own share for this run has the name `name`. Returns any other name unchanged,
// such as the name of a key, or KEY/NAME of a gateway.
inline std::string submitter_behind(std::string name, std::string_view run) {
  const std::string ending = own_share_name("", run);
  if (run.empty() || !name.ends_with(ending)) return name;
  const std::size_t end = name.size() - ending.size();
  if (name.find('@') < end) name.resize(end);
  return name;
}

// Returns whether `submitter` names the submitter of a job of this run: by `name`, the name at the queue, or as the
// submitter behind it.
inline bool is_submitter(std::string_view submitter, const std::string& name, std::string_view run) {
  return submitter == name || submitter == submitter_behind(name, run);
}

}  // namespace kq
