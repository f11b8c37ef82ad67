// Reads how a build ended, and with which compilers, from the files that its child left.
//
// The files are hostile, but a child that lies gains nothing: a module that is missing fails to load, and facts that
// are left out do not change what the judge measures.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/verdict.h"
#include "guard/guard.h"

namespace kq::worker {

// Reads `dir`/facts, source.ii, status and message, and the import table of every library and cubin there. Returns
// nothing if the build succeeded. Adds the guard's findings for review to `for_review` where it is not null.
std::optional<Verdict> read_outcome(const std::string& dir, const guard::Policy& policy = {},
                                    std::vector<ReviewFinding>* for_review = nullptr);

// Whether every compilation of the call would fail as the one did that left its files in `dir`.
bool is_final(const std::string& dir);

// Returns the compilers and flags that the build in `dir` used, as text for people and as its two parts; empty if
// nothing was compiled.
std::string toolchain_text(const std::string& dir);
Toolchain toolchain_in(const std::string& dir);

// Returns the compilers that a build child found on its machine, or nothing if the child ended before its report.
std::optional<std::string> toolchain_id_in(const std::string& dir);

// Adds the findings for review whose rule `for_review` does not have yet, up to kReviewFindingsMax.
void add_for_review(std::span<const guard::Finding> findings, std::vector<ReviewFinding>& for_review);

// Returns the verdict on a submission that breaks a rule of the guard.
Verdict rejected(const guard::Finding& finding);

// Returns the place at the begin of a message, "add.py:31" of "add.py:31: invalid syntax", or an empty text.
std::string place_in(const std::string& message);

// Returns untrusted text as printable text of at most kMessageTextMax bytes.
std::string shortened(std::string_view text);

}  // namespace kq::worker
