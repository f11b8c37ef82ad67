// Cells of the tables that the index and the pages of boards have.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tools/report/boards/board_pages.h"

namespace kq::tools {

// Returns a cell with a figure; the column sorts by the value, where it is above 0.
std::string figure_cell(const std::string& html, double value, std::string_view more_class = "");
std::string noise_cell(const Standing& entry);
// Returns the time, with "~" where the machine was busy.
std::string median_text(const LeaderboardRow& row);
std::string speedup_cell(const Standing& entry, bool has_time_below);
std::string text_cell(const std::string& html, bool is_more = false);
std::string time_cell(std::int64_t unix_ms, bool is_more = false);

double noise_pct(const LeaderboardRow& row);      // of the median, in percent of it; below 0: unknown
std::string noise_text(const Standing& entry);    // "±1.2 %", or nothing
std::string backend_text(const Standing& entry);  // says where the time is self-reported

// Returns the sentence under a table that says what "~" means; "" where no entry has it.
std::string busy_html(std::span<const Standing> entries);

// Returns the label of an entry, as a link to the job in the report of its run. `up` leads to the folder of the index.
std::string kernel_html(const Standing& entry, const BoardPagesOptions& options, std::string_view up);

// Returns the address of a board's page from the folder of the index.
std::string board_address(const Board& board);

}  // namespace kq::tools
