// What kq-check says: to people one line per finding, to programs JSON, to code scanners SARIF 2.1.0.
#pragma once

#include <string>

#include "tools/check/checker.h"

namespace kq::tools {

// "add.py:12 cuda_stream_create creates a CUDA stream: torch.cuda.Stream; launch on ..." and for reviews "review: "
// before the message.
std::string report_text(const CheckReport& report);
// {"files": 1, "findings": [...], "unjudged": [...]}
std::string report_json(const CheckReport& report);
std::string report_sarif(const CheckReport& report);

std::string rules_text();
std::string rules_json();
std::string explanation_text(const guard::Rule& rule);

// How long files took, for people.
std::string times_text(const CheckReport& report);

}  // namespace kq::tools
