#include "tools/report/boards/board_folder.h"

#include <algorithm>
#include <filesystem>

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

Expected<void> write_report(Source& source, const BoardFolderOptions& options, const PageFiles& files,
                            const std::string& run) {
  RunReport report({.run = run, .source = options.source, .made_at = options.made_at},
                   [&](const RunRow& row, const Hash& hash) { return readable_file(source, row, hash); });
  KQ_TRY(each_row(
      source, run, [&](const RunRow& row) { return report.add(row); }, true));
  for (const ReportFile& page : report.pages(files, report_name_of(run)))
    KQ_TRY(write(fs::path(options.folder) / "runs" / page.name, page.html));
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

Expected<std::size_t> write_board_folder(Source& source, const BoardFolderOptions& options) {
  KQ_TRY_VALUE(const auto files, read_page_files(options.page_files));
  std::vector<std::string> runs{options.run};
  if (options.run.empty()) {
    KQ_TRY_VALUE(runs, all_runs(source));
  }
  BoardCollector collector;
  for (const std::string& run : runs) {
    KQ_TRY(each_row_with_reruns(source, run, [&](const RunRow& row) {
      collector.add(row);
      return Expected<void>();
    }));
  }
  const std::vector<Board> boards = collector.finish();
  if (boards.empty()) return failure(Error{ErrorKind::not_found, "there are no boards yet: no job has passed"});
  BoardPagesOptions pages{
      .base_url = options.base_url, .source = options.source, .made_at = options.made_at, .report_of_run = {}};
  for (const std::string& run : options.has_reports ? runs_on(boards) : std::set<std::string>()) {
    KQ_TRY(write_report(source, options, files, run));
    pages.report_of_run.emplace(run, report_name_of(run));
  }
  std::vector<BoardFile> written = board_pages(files, boards, pages);
  std::reverse(written.begin(), written.end());
  for (const BoardFile& file : written) KQ_TRY(write(fs::path(options.folder) / file.path, file.text));
  return boards.size();
}

}  // namespace kq::tools
