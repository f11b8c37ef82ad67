// The page that lists all boards and the newest records.
#pragma once

#include <span>
#include <string>

#include "tools/report/boards/board_pages.h"

namespace kq::tools {

inline constexpr std::size_t kNewestRecordsShown = 5;

std::string board_index_page(const PageFiles& files, std::span<const Board> boards, const BoardPagesOptions& options);

}  // namespace kq::tools
