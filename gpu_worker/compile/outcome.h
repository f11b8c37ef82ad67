// Reads how a build ended from the files that its child left.
//
// The files are hostile, but a child that lies gains nothing: a module that is missing fails to load, and facts that
// are left out do not change what the judge measures.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/verdict.h"
#include "guard/guard.h"

namespace kq::worker {

// Reads `dir`/facts, source.ii, status and message, and the import table of every library and cubin there. Returns
// nothing if the build succeeded.
std::optional<Verdict> read_outcome(const std::string& dir, const guard::Policy& policy = {});

// Returns the verdict on a submission that breaks a rule of the guard.
Verdict rejected(const guard::Finding& finding);

// Returns the place at the begin of a message, "add.py:31" of "add.py:31: invalid syntax", or an empty text.
std::string place_in(const std::string& message);

// Returns untrusted text as printable text of at most kMessageTextMax bytes.
std::string shortened(std::string_view text);

}  // namespace kq::worker
