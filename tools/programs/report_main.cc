// kq-report: writes the report of a run as one HTML file that needs nothing else, or as Markdown.
#include <cctype>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "producer/client/standard_output.h"
#include "store/rocks/rocks_store.h"
#include "sys/clock.h"
#include "tools/cli/flags.h"
#include "tools/cli/output_file.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/report/run/markdown.h"
#include "tools/report/run/report_pages.h"
#include "tools/report/source_name.h"
#include "tools/stack/stack.h"
#include "tools/stack/stop_signals.h"
#include "tools/table/columns.h"

namespace {

namespace fs = std::filesystem;
using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-report";

struct Options {
  std::string run;
  std::string out;
  std::string format = "html";
  kq::tools::SourceOptions source;
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  kq::tools::Flags flags(
      kProgram,
      "Writes the report of a run: one HTML file that opens from disk and asks no host for anything. "
      "A run of more than 1,000 jobs gets further pages beside it. With keys a broker sends sources only to the "
      "submitter "
      "of a row and to those with whom the run is shared.");
  flags.argument("run", "name of the run", options.run);
  flags.option("-o,--out", "PATH",
               "file to write, such as r1.html, or a folder, which gets an index.html; the path is printed (default: "
               "RUN.html; for markdown standard output)",
               options.out);
  flags.choice("--format", "html, or markdown for pull requests (default: html)", options.format, {"html", "markdown"});
  kq::tools::add_flags(flags, options.source);
  return flags.parse(argc, argv);
}

// Returns whether a path has the ending of another kind of file: ".txt", but not "v0.2".
bool ends_as_another_file(const fs::path& path) {
  const std::string ending = path.extension().string();
  std::error_code ignored;
  return ending.size() > 1 && std::isalpha(static_cast<unsigned char>(ending[1])) != 0 &&
         !fs::is_directory(path, ignored);
}

// Returns the path of the first page. A path that does not end in .html names a folder, which is made.
Expected<fs::path> first_page(const Options& options) {
  if (options.out.empty()) return fs::path(kq::tools::default_file_name(options.run, ".html"));
  const fs::path out(options.out);
  if (out.extension() == ".html" || out.extension() == ".htm") return out;
  if (ends_as_another_file(out)) {
    return kq::bad_input("the PATH of -o must end in .html, or in / for a folder, got '" +
                         kq::tools::printable(options.out) + "'");
  }
  std::error_code error;
  fs::create_directories(out, error);
  if (error) return kq::bad_input("cannot make the folder " + options.out + ": " + error.message());
  return out / "index.html";
}

Expected<void> write(const fs::path& path, const std::string& text) {
  KQ_TRY_VALUE(auto file, kq::tools::OutputFile::open(path.string()));
  KQ_TRY(file.write(text));
  return file.commit();
}

Expected<void> write_html(kq::tools::Source& source, const Options& options) {
  KQ_TRY_VALUE(const auto files, kq::tools::read_page_files(kq::tools::program_folder() + "/../share/kq/report"));
  KQ_TRY_VALUE(const fs::path first, first_page(options));
  const kq::tools::Cell now = kq::tools::utc_time(kq::sys::unix_now_ms());
  kq::tools::RunReport report(
      {.run = options.run,
       .source = kq::tools::source_name(options.source),
       .made_at = std::get<std::string>(now).substr(0, 19) + "Z"},
      [&](const kq::RunRow& row, const kq::Hash& hash) { return kq::tools::readable_file(source, row, hash); });
  KQ_TRY(kq::tools::each_row(
      source, options.run, [&](const kq::RunRow& row) { return report.add(row); }, true));
  if (report.job_count() == 0) return kq::failure(kq::tools::no_such_run(source, options.run));
  for (const kq::tools::ReportFile& page : report.pages(files, first.filename().string()))
    KQ_TRY(write(first.parent_path() / page.name, page.html));
  std::cout << first.string() << '\n';
  return {};
}

Expected<void> write_markdown(kq::tools::Source& source, const Options& options) {
  kq::tools::SummaryBuilder summary(options.run);
  std::vector<kq::tools::MarkdownFailure> failures;
  std::size_t row_count = 0, failure_count = 0;
  KQ_TRY(kq::tools::each_row(source, options.run, [&](const kq::RunRow& row) {
    ++row_count;
    summary.add(row);
    if (auto failure = kq::tools::markdown_failure(row)) {
      ++failure_count;
      if (failures.size() < kq::tools::kMarkdownFailuresMax) failures.push_back(std::move(*failure));
    }
    return Expected<void>();
  }));
  if (row_count == 0) return kq::failure(kq::tools::no_such_run(source, options.run));
  const std::string text = kq::tools::markdown_report(summary.finish(), failures, failure_count);
  return write(options.out.empty() ? "-" : options.out, text);
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  if (options.run.empty()) return report_error(kProgram, {ErrorKind::bad_input, "the name of the run is empty"});
  const Expected<kq::tools::OpenSource> open = kq::tools::open_source(options.source, [](const std::string& folder) {
    return kq::store::open_rocks_store(folder, kq::store::OpenMode::read_only);
  });
  if (!open) return report_error(kProgram, open.error());
  const auto written =
      options.format == "html" ? write_html(*open->source, options) : write_markdown(*open->source, options);
  return written ? static_cast<int>(ExitCode::ok) : report_error(kProgram, written.error());
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
