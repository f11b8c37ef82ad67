// kq-dump: a run as a file for other programs, one row per job, in any format of the exporters' table.
#include <iostream>
#include <string>
#include <vector>

#include "store/rocks_store.h"
#include "tools/columns.h"
#include "tools/exporters/exporter.h"
#include "tools/flags.h"
#include "tools/output_file.h"
#include "tools/source.h"
#include "tools/stop_signals.h"
#include "tools/text.h"

namespace {

using kq::complain;
using kq::ExitCode;
using kq::Expected;

const std::string kProgram = "kq-dump";

struct Options {
  std::string run;
  std::string format = "csv";
  std::string out = "-";
  kq::SourceOptions source;
  bool schema = false;
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  std::vector<std::string> formats;
  for (const kq::Exporter& exporter : kq::exporters()) formats.emplace_back(exporter.name);
  kq::Flags flags(
      kProgram,
      "Writes a run, one row per job, for other programs to read. Unknown values are empty (csv) or null (jsonl).");
  flags.option("--run", "NAME", "name of the run", options.run);
  flags.choice("--format", "how to write it (default: csv)", options.format, formats);
  flags.option("-o,--out", "FILE", "where to; it appears whole or not at all (default: -, standard output)",
               options.out);
  flags.flag("--schema", "print what each column means, and its unit, instead", options.schema);
  add_flags(flags, options.source);
  return flags.parse(argc, argv);
}

std::string schema() {
  std::vector<std::vector<std::string>> cells;
  for (const kq::Column& column : kq::columns()) {
    cells.push_back(
        {std::string(column.name), column.unit.empty() ? "-" : std::string(column.unit), std::string(column.doc)});
  }
  return kq::table({{"column"}, {"unit"}, {"meaning"}}, cells);
}

// How many rows were written.
Expected<std::size_t> dump(kq::Source& source, const std::string& run, const kq::Exporter& exporter,
                           kq::OutputFile& file) {
  std::size_t rows_n = 0;
  if (const auto written = file.write(exporter.header()); !written) return kq::failure(written.error());
  const auto visited = kq::each_row(source, run, [&](const kq::RunRow& row) {
    ++rows_n;
    return file.write(exporter.row(row));
  });
  if (!visited) return kq::failure(visited.error());
  if (const auto committed = file.commit(); !committed) return kq::failure(committed.error());
  return rows_n;
}

}  // namespace

int main(int argc, char** argv) {
  kq::end_quietly_when_nobody_reads();
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  if (options.schema) {
    std::cout << schema() << std::flush;
    return static_cast<int>(ExitCode::ok);
  }
  if (options.run.empty()) return complain(kProgram, {ExitCode::bad_input, "which run? --run NAME is needed"});

  Expected<kq::OutputFile> file = kq::OutputFile::open(options.out);
  if (!file) return complain(kProgram, file.error());
  const Expected<kq::OpenSource> open = kq::open_source(
      options.source, [](const std::string& folder) { return kq::open_rocks_store(folder, kq::OpenMode::read_only); });
  if (!open) return complain(kProgram, open.error());
  const Expected<std::size_t> rows_n = dump(*open->source, options.run, *kq::find_exporter(options.format), *file);
  if (!rows_n) return complain(kProgram, rows_n.error());
  if (*rows_n == 0)
    return complain(kProgram, {ExitCode::nothing, "there is no run '" + kq::printable(options.run) + "'"});
  return static_cast<int>(ExitCode::ok);
}
