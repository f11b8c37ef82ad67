// The parts of a report that are whole without a script: counts, warnings, the fastest kernels, versions. Each function
// returns HTML in which every text of a run is escaped.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "tools/report/page.h"
#include "tools/report/plots.h"
#include "tools/report/run/run_summary.h"

namespace kq::tools {

inline constexpr std::size_t kBoardRowsShown = 200;  // of the table of the fastest kernels

// Returns one tile of a list of the class `tiles`: a figure, what the figure is, and a detail.
std::string tile_html(std::string_view figure, std::string_view name, std::string_view more);
// Returns a line that only narrow windows show: the words that are not empty, with dots between them. Such windows hide
// the columns of the class `more`, whose texts belong into such a line.
std::string narrow_line(std::initializer_list<std::string> words);
std::string header_html(const RunSummary& summary);
std::string tiles_html(const RunSummary& summary);
std::string warnings_html(const RunSummary& summary);
// The figures, which the script fills, with what they say in words.
std::string plots_section_html(const PageFiles& files, const RunSummary& summary, std::span<const PlotValues> plots,
                               const std::vector<std::string>& problems_with_samples);
std::string board_html(const RunSummary& summary);
std::string jobs_section_html();  // the table of jobs and the place of one job, which the script fills
std::string places_html(const RunSummary& summary);
std::string footer_html(const PageFiles& files, const std::string& source, const std::string& made_at);

// Returns the class by which style.css colours a verdict or a state: good, bad, policy, fault or waiting.
std::string_view tone_of(std::string_view outcome);

// "2026-11-26 18:03 UTC", or "-" for 0.
std::string minute_text(std::int64_t unix_ms);

}  // namespace kq::tools
