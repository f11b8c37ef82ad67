// A report of a run as Markdown, for pull requests and issues.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/records.h"
#include "tools/report/run/run_summary.h"

namespace kq::tools {

inline constexpr std::size_t kMarkdownFailuresMax = 50;
inline constexpr std::size_t kMarkdownRowsMax = 200;

// A job that did not pass: its label, the verdict with the reason, and the first line of the message.
struct MarkdownFailure {
  std::string label = {};
  std::string outcome = {};
  std::string message = {};
};
// Returns nothing for a passed or unfinished job.
std::optional<MarkdownFailure> markdown_failure(const RunRow& row);

// `failure_count` counts those that `failures` leaves out as well.
std::string markdown_report(const RunSummary& summary, std::span<const MarkdownFailure> failures,
                            std::size_t failure_count);

// Returns a text for a cell of a table: characters that Markdown or HTML give a meaning have none.
std::string markdown_text(std::string_view text);

}  // namespace kq::tools
