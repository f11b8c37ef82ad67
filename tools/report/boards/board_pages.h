// Leaderboards as a folder of static pages for any web server: an index, a page for each board, JSON and a feed.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tools/report/boards/board_history.h"
#include "tools/report/page.h"

namespace kq::tools {

struct BoardPagesOptions {
  std::string base_url = {};  // where the folder will be served; empty: unknown
  std::string source = {};
  std::string made_at = {};
  std::map<std::string, std::string> report_of_run = {};  // run -> file in runs/ with its report; may lack runs
};

struct BoardFile {
  std::string path = {};  // inside the folder: "index.html", "boards/relu.NVIDIA-H200.0a1b2c3d.html"
  std::string text = {};
};

std::vector<BoardFile> board_pages(const PageFiles& files, std::span<const Board> boards,
                                   const BoardPagesOptions& options);

// Returns the runs of the entries and records that the pages show.
std::set<std::string> runs_on(std::span<const Board> boards);

}  // namespace kq::tools
