// Writes the pages of leaderboards, and the reports to which their entries link, into a folder.
#pragma once

#include <string>

#include "tools/cli/source.h"

namespace kq::tools {

struct BoardFolderOptions {
  std::string folder = {};
  std::string run = {};  // only the jobs of this run; empty: of all runs
  std::string base_url = {};
  std::string source = {};
  std::string made_at = {};
  std::string page_files = {};  // share/kq/report
  bool has_reports = true;
};

struct WrittenBoards {
  std::size_t board_count = 0;
  std::size_t removed_count = 0;  // pages of earlier calls
};

// Each file appears whole or not at all; the index is the last. Then removes the pages that the call before has written
// and this one has not, because no page leads to them; pages.txt in the folder lists the pages of a call.
Expected<WrittenBoards> write_board_folder(Source& source, const BoardFolderOptions& options);

// Returns a file name for a name that may hold any character. Names that differ have names of files that differ.
std::string report_name_of(const std::string& run);

}  // namespace kq::tools
