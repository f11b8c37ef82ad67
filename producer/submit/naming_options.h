// The options that name every submission of a call for people: --author and --tag. kq-submit and kq-sweep have them.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/formats/candidate.h"

namespace kq::producer {

inline constexpr const char* kAuthorHelp =
    "the author of every submission, in place of what files say; - empties the authors that rows have";
inline constexpr const char* kTagHelp =
    "a tag of every submission, beside those that files give and in place of one with this name; may be repeated; "
    "- alone empties the tags that files and rows give";

// What one command line says of them. A parser of command lines writes the fields.
struct NamingTexts {
  std::string author;             // empty: not given
  std::vector<std::string> tags;  // "model=m1", or "-"

  // Sets the options that were given. Fails with a sentence about the first one that is wrong.
  Expected<void> apply(InputOptions& options) const;
};

}  // namespace kq::producer
