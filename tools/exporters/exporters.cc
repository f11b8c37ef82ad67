#include <filesystem>

#include "tools/cli/output_file.h"
#include "tools/cli/text.h"
#include "tools/exporters/exporter.h"

namespace kq::tools {
namespace {

constexpr Exporter kExporters[] = {
    {"csv", "RFC 4180, one header line, LF", false, open_csv},
    {"jsonl", "one JSON object per line, described by share/kq.result-1.schema.json", false, open_jsonl},
    {"kernelbench", "eval_results.json, pass_at_k_results.json and baseline files, for KernelBench's own scripts", true,
     open_kernelbench},
    {"backendbench", "full_results.json, failed_tests.json, operator_summary.csv and OVERALL_SUMMARY.md", true,
     open_backendbench},
    {"flashinfer-trace", "traces/DEFINITION.jsonl, for the tools of flashinfer-bench and SOL-ExecBench", true,
     open_flashinfer},
};

constexpr std::string_view kParquet =
    "Parquet is made from JSON Lines: kq-dump NAME --format jsonl | python -m kq export -o FILE.parquet";

// A dump to one file of lines.
class Lines final : public Export {
 public:
  Lines(OutputFile file, const Selection& selection, AppendLine append)
      : file_(std::move(file)), selection_(selection), append_(std::move(append)) {}

  Expected<void> write(std::string_view text) { return file_.write(text); }

  Expected<void> add(const RunRow& row) override {
    return selection_.each(row, [this](std::span<const Cell> cells) {
      line_.clear();
      append_(cells, line_);
      ++row_count_;
      return file_.write(line_);
    });
  }
  Expected<void> finish() override { return file_.commit(); }
  std::uint64_t row_count() const override { return row_count_; }

 private:
  OutputFile file_;
  const Selection& selection_;
  AppendLine append_;
  std::string line_;
  std::uint64_t row_count_ = 0;
};

}  // namespace

std::span<const Exporter> exporters() {
  return kExporters;
}

const Exporter* find_exporter(std::string_view name) {
  for (const Exporter& exporter : kExporters) {
    if (exporter.name == name) return &exporter;
  }
  return nullptr;
}

Expected<std::string> format_of_file(const std::string& out, std::string_view way_out) {
  const std::string ending = std::filesystem::path(out).extension().string();
  if (ending == ".jsonl" || ending == ".jsonlines" || ending == ".ndjson") return "jsonl";
  if (ending == ".parquet") return bad_input(printable(out) + " would be a file of Parquet; " + std::string(kParquet));
  if (ending == ".json") {
    return bad_input(printable(out) + " would be one JSON value, but rows are JSON Lines: name FILE.jsonl" +
                     std::string(way_out));
  }
  for (const std::string_view other : {".gz", ".zst", ".xz", ".bz2", ".zip", ".xlsx", ".xls", ".tsv"}) {
    if (ending == other)
      return bad_input(printable(out) + " would not be what its ending says: rows are plain CSV or JSON Lines; " +
                       "name FILE.csv or FILE.jsonl" + std::string(way_out));
  }
  return "csv";
}

Error unknown_format(const std::string& name) {
  std::string sentence = "--format must be one of ";
  for (const Exporter& exporter : kExporters)
    sentence += (&exporter == kExporters ? "" : ", ") + std::string(exporter.name);
  sentence += ", got '" + printable(name) + "'";
  if (name == "parquet") sentence += "; " + std::string(kParquet);
  return {ErrorKind::bad_input, sentence};
}

Expected<std::unique_ptr<Export>> open_lines(const ExportOptions& options, const Selection& selection,
                                             const std::string& header, AppendLine append) {
  Expected<OutputFile> file = OutputFile::open(options.out);
  if (!file) return failure(file.error());
  auto lines = std::make_unique<Lines>(std::move(*file), selection, std::move(append));
  KQ_TRY(lines->write(header));
  return lines;
}

}  // namespace kq::tools
