// kq-report: writes the report of a run as one HTML file that needs nothing else, or as Markdown.
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
  std::string format;  // empty: by the ending of the output
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
               "file to write, such as r1.html or r1.md, or a folder, which gets an index.html; the path is printed; - "
               "is standard output (default: RUN.html; for markdown standard output)",
               options.out);
  flags.choice("--format", "html, or markdown for pull requests (default: by the ending of PATH, else html)",
               options.format, {"html", "markdown"});
  kq::tools::add_flags(flags, options.source);
  return flags.parse(argc, argv);
}

std::string format_of(const Options& options) {
  const fs::path ending = fs::path(options.out).extension();
  if (!options.format.empty()) return options.format;
  return ending == ".md" || ending == ".markdown" ? "markdown" : "html";
}

// Returns the path of the first page. A path that does not end in .html names a folder, which is made.
Expected<fs::path> first_page(const Options& options) {
  if (options.out.empty()) return fs::path(kq::tools::default_file_name(options.run, ".html"));
  const fs::path out(options.out);
  if (out.extension() == ".html" || out.extension() == ".htm") return out;
  if (kq::tools::ends_as_a_file(options.out)) {
    return kq::bad_input("the PATH of -o must end in .html or, for Markdown, .md, or in / for a folder, got '" +
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
  const bool to_stdout = options.out == "-";
  KQ_TRY_VALUE(const fs::path first, to_stdout ? Expected<fs::path>("-") : first_page(options));
  const kq::tools::Cell now = kq::tools::utc_time(kq::sys::unix_now_ms());
  kq::tools::RunReport report(
      {.run = options.run,
       .source = kq::tools::source_name(options.source),
       .made_at = std::get<std::string>(now).substr(0, 19) + "Z"},
      [&](const kq::RunRow& row, const kq::Hash& hash) { return kq::tools::readable_file(source, row, hash); });
  KQ_TRY(kq::tools::each_row(
      source, options.run, [&](const kq::RunRow& row) { return report.add(row); }, true));
  if (report.job_count() == 0) return kq::failure(kq::tools::no_such_run(source, options.run));
  const auto pages = report.pages(files, first.filename().string());
  if (to_stdout && pages.size() > 1) {
    return kq::bad_input("the report of " + kq::tools::printable(options.run) + " has " + std::to_string(pages.size()) +
                         " pages, which do not fit on standard output; name a file or a folder with -o");
  }
  for (const kq::tools::ReportFile& page : pages) KQ_TRY(write(first.parent_path() / page.name, page.html));
  if (!to_stdout) std::cout << first.string() << '\n';
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
  KQ_TRY(write(options.out.empty() ? "-" : options.out, text));
  if (!options.out.empty() && options.out != "-") std::cout << options.out << '\n';
  return {};
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
      format_of(options) == "html" ? write_html(*open->source, options) : write_markdown(*open->source, options);
  return written ? static_cast<int>(ExitCode::ok) : report_error(kProgram, written.error());
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
