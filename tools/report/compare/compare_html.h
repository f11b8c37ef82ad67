// A comparison as one HTML page that needs nothing else.
#pragma once

#include <span>
#include <string>

#include "tools/report/compare/compare_runs.h"
#include "tools/report/page.h"

namespace kq::tools {

std::string compare_page(const PageFiles& files, std::span<const Comparison> comparisons, const CompareOptions& options,
                         const std::string& source, const std::string& made_at);

}  // namespace kq::tools
