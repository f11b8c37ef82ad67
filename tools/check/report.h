// The reports of kq-check: one line per finding for people, JSON for programs, SARIF 2.1.0 for code scanners.
#pragma once

#include <string>

#include "tools/check/checker.h"

namespace kq::tools {

// Returns lines such as "add.py:12 cuda_stream_create creates a CUDA stream: torch.cuda.Stream; launch on ...". A
// finding of a rule for review has "review: " before the message.
std::string report_text(const CheckReport& report);
// {"files": 1, "findings": [...], "unjudged": [...]}
std::string report_json(const CheckReport& report);
std::string report_sarif(const CheckReport& report);

// Return the list of all rules, and the explanation of one.
std::string rules_text();
std::string rules_json();
std::string explanation_text(const guard::Rule& rule);

// Returns one line about how long the checks took.
std::string times_text(const CheckReport& report);

}  // namespace kq::tools
