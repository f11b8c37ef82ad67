// What a build child left in its directory about the build: hostile files, read into how the build ended.
//
// A liar gains nothing: a module that is not there fails to load, and the judge's clock does not care what the facts
// left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/verdict.h"
#include "guard/guard.h"

namespace kq::worker {

// Reads `dir`/facts, source.ii, status and message, and the import table of every library and cubin there. Nothing: the
// build went well.
std::optional<Verdict> read_outcome(const std::string& dir);

// The end of a submission whose source breaks a rule.
Verdict rejected(const guard::Finding& finding);

// Of a child's words or a source's: at most kMessageTextMax bytes, and nothing that is a command to somebody's
// terminal.
std::string shortened(std::string_view text);

}  // namespace kq::worker
