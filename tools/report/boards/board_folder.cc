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

// Returns whether a file is a page that kq has written.
bool is_own_page(const fs::path& path) {
  constexpr std::size_t kMarkedBytesMax = 512;
  std::string begin(kMarkedBytesMax, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return path.extension() == ".html" && begin.find(kPageMark) != std::string::npos;
}

// Removes the pages of earlier calls: those in the folders of pages that are not among the written ones. Returns their
// number.
std::size_t remove_old_pages(const fs::path& folder, const std::set<fs::path>& written) {
  std::vector<fs::path> old;
  for (const char* below : {"boards", "runs"}) {
    std::error_code ignored;
    for (fs::directory_iterator entry(folder / below, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
      if (!written.contains(entry->path()) && is_own_page(entry->path())) old.push_back(entry->path());
    }
  }
  std::error_code ignored;
  return static_cast<std::size_t>(
      std::ranges::count_if(old, [&](const fs::path& page) { return fs::remove(page, ignored); }));
}

Expected<void> write_report(Source& source, const BoardFolderOptions& options, const PageFiles& files,
                            const std::string& run, std::set<fs::path>& written) {
  RunReport report({.run = run, .source = options.source, .made_at = options.made_at},
                   [&](const RunRow& row, const Hash& hash) { return readable_file(source, row, hash); });
  KQ_TRY(each_row(
      source, run, [&](const RunRow& row) { return report.add(row); }, true));
  for (const ReportFile& page : report.pages(files, report_name_of(run))) {
    const fs::path path = fs::path(options.folder) / "runs" / page.name;
    KQ_TRY(write(path, page.html));
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
  if (const fs::path index = fs::path(options.folder) / "index.html";
      fs::exists(index) && !is_own_page(index) && !fs::exists(fs::path(options.folder) / "boards.json"))
    return bad_input(index.string() + " is no page of kq; name another folder, or remove it");
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
  std::set<fs::path> paths;
  for (const std::string& run : options.has_reports ? runs_on(boards) : std::set<std::string>()) {
    KQ_TRY(write_report(source, options, files, run, paths));
    pages.report_of_run.emplace(run, report_name_of(run));
  }
  std::vector<BoardFile> written = board_pages(files, boards, pages);
  std::reverse(written.begin(), written.end());
  for (const BoardFile& file : written) {
    KQ_TRY(write(fs::path(options.folder) / file.path, file.text));
    paths.insert(fs::path(options.folder) / file.path);
  }
  return WrittenBoards{.board_count = boards.size(), .removed_count = remove_old_pages(options.folder, paths)};
}

}  // namespace kq::tools
