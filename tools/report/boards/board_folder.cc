#include "tools/report/boards/board_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "tools/cli/output_file.h"
#include "tools/cli/text.h"
#include "tools/report/boards/board_pages.h"
#include "tools/report/run/report_pages.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

Expected<void> write(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return bad_input("cannot make the folder " + path.parent_path().string() + ": " + error.message());
  KQ_TRY_VALUE(auto file, OutputFile::open(path.string()));
  KQ_TRY(file.write(text));
  return file.commit();
}

// The list of the pages that a call has written, for the next call: a path below the folder in each line.
constexpr const char* kPageList = "pages.txt";

// Returns whether a line of the list may be a page of a call: boards/NAME.html or runs/NAME.html.
bool is_page(const std::string& line) {
  const std::size_t slash = line.find('/');
  const std::string below = line.substr(0, slash);
  return (below == "boards" || below == "runs") && line.find('/', slash + 1) == std::string::npos &&
         line.ends_with(".html");
}

// Removes the pages of the call before, which its list names, that this call has not written. Returns their number.
Expected<std::size_t> remove_old_pages(const fs::path& folder, const std::set<std::string>& written) {
  std::size_t count = 0;
  std::ifstream list(folder / kPageList);
  for (std::string line; std::getline(list, line);) {
    if (!is_page(line) || written.contains(line)) continue;
    std::error_code error;
    count += fs::remove(folder / line, error) ? 1 : 0;
    if (error) return bad_input("cannot remove " + (folder / line).string() + ": " + error.message());
  }
  return count;
}

Expected<void> write_report(Source& source, const BoardFolderOptions& options, const PageFiles& files,
                            const std::string& run, std::set<std::string>& written) {
  RunReport report({.run = run, .source = options.source, .made_at = options.made_at},
                   [&](const RunRow& row, const Hash& hash) { return readable_file(source, row, hash); });
  KQ_TRY(each_row(
      source, run, [&](const RunRow& row) { return report.add(row); }, true));
  for (const ReportFile& page : report.pages(files, report_name_of(run))) {
    const std::string path = "runs/" + page.name;
    KQ_TRY(write(fs::path(options.folder) / path, page.html));
    written.insert(path);
  }
  return {};
}

}  // namespace

std::string report_name_of(const std::string& run) {
  std::string name;
  for (const char c : run) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    name += is_plain ? c : '_';
  }
  return name == run ? name + ".html" : name + "." + to_hex(sha256(run)).substr(0, 8) + ".html";
}

Expected<WrittenBoards> write_board_folder(Source& source, const BoardFolderOptions& options) {
  KQ_TRY_VALUE(const auto files, read_page_files(options.page_files));
  std::vector<std::string> runs{options.run};
  if (options.run.empty()) {
    KQ_TRY_VALUE(runs, all_runs(source));
  }
  const fs::path folder = options.folder;
  std::error_code ignored;
  if (fs::exists(folder / "index.html", ignored) && !fs::exists(folder / "boards.json", ignored))
    return bad_input((folder / "index.html").string() + " is no page of boards; name another folder, or remove it");
  BoardCollector collector;
  std::size_t row_count = 0;
  for (const std::string& run : runs) {
    KQ_TRY(each_row_with_reruns(source, run, [&](const RunRow& row) {
      ++row_count;
      collector.add(row);
      return Expected<void>();
    }));
  }
  if (row_count == 0 && !options.run.empty()) return failure(no_such_run(source, options.run));
  const std::vector<Board> boards = collector.finish();
  if (boards.empty()) return failure(Error{ErrorKind::not_found, "there are no boards yet: no job has passed"});
  BoardPagesOptions pages{
      .base_url = options.base_url, .source = options.source, .made_at = options.made_at, .report_of_run = {}};
  std::set<std::string> paths;
  for (const std::string& run : options.has_reports ? runs_on(boards) : std::set<std::string>()) {
    KQ_TRY(write_report(source, options, files, run, paths));
    pages.report_of_run.emplace(run, report_name_of(run));
  }
  std::vector<BoardFile> written = board_pages(files, boards, pages);
  std::reverse(written.begin(), written.end());
  for (const BoardFile& file : written) {
    KQ_TRY(write(folder / file.path, file.text));
    paths.insert(file.path);
  }
  KQ_TRY_VALUE(const std::size_t removed_count, remove_old_pages(folder, paths));
  std::string list;
  for (const std::string& path : paths) list += is_page(path) ? path + '\n' : "";
  KQ_TRY(write(folder / kPageList, list));
  return WrittenBoards{.board_count = boards.size(), .removed_count = removed_count};
}

}  // namespace kq::tools
