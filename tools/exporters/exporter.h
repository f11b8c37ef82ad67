// The formats that kq-dump writes. Each format has a source file in this folder and a row in the table of exporters.cc.
//
// To add a format, add both; docs/design/extending.md explains how. csv.cc and jsonl.cc are the shortest examples,
// kernelbench.cc writes several files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/records.h"
#include "tools/table/selection.h"

namespace kq::tools {

struct ExportOptions {
  std::string out = "-";    // a file; a folder for a format that writes several files
  bool strict = false;      // kernelbench, backendbench: exactly the values that the original would have given
  double perf_p = 1;        // backendbench: the threshold of perf@p
  std::string trace_set{};  // flashinfer-trace: the folder of the trace set that was submitted
  bool merge = false;       // kernelbench: results of other samples in an existing file are kept
  std::vector<std::uint32_t> pass_at_k = {1};
};

// One dump in progress. Its files appear in finish(), each whole or not at all. A format that writes a folder writes
// nothing where none of the rows fits it.
class Export {
 public:
  virtual ~Export() = default;
  virtual Expected<void> add(const RunRow& row) = 0;  // rows must come in the order of labels
  virtual Expected<void> finish() = 0;
  virtual std::uint64_t row_count() const = 0;  // number of rows written so far, without those left out
  virtual std::vector<std::string> notes() const { return {}; }  // sentences about rows that were left out
};

struct Exporter {
  std::string_view name;
  std::string_view doc;
  bool writes_folder;
  // Starts a dump. The selection must outlive the dump.
  Expected<std::unique_ptr<Export>> (*open)(const ExportOptions& options, const Selection& selection);
};

std::span<const Exporter> exporters();

// Returns null for an unknown name.
const Exporter* find_exporter(std::string_view name);
// Returns the name of the format that a dump to `out` has where no format is named: that of the file's ending, else
// csv. Fails for the endings of files that no program here writes, such as .parquet. `way_out` is what the error says
// of a file of another name, for programs that have such a way.
Expected<std::string> format_of_file(
    const std::string& out, std::string_view way_out = ", or give --format csv or jsonl for a file of another name");
// Returns the Error for an unknown format, which lists the known formats and says how to make Parquet.
Error unknown_format(const std::string& name);

// The open functions of the formats, each in a file of its own.
Expected<std::unique_ptr<Export>> open_csv(const ExportOptions& options, const Selection& selection);
Expected<std::unique_ptr<Export>> open_jsonl(const ExportOptions& options, const Selection& selection);
Expected<std::unique_ptr<Export>> open_backendbench(const ExportOptions& options, const Selection& selection);
Expected<std::unique_ptr<Export>> open_flashinfer(const ExportOptions& options, const Selection& selection);
Expected<std::unique_ptr<Export>> open_kernelbench(const ExportOptions& options, const Selection& selection);

// Opens a dump for a format that is one file with a header and a line for each selected row. `append` appends the line
// of a row.
using AppendLine = std::function<void(std::span<const Cell> cells, std::string& line)>;
Expected<std::unique_ptr<Export>> open_lines(const ExportOptions& options, const Selection& selection,
                                             const std::string& header, AppendLine append);

}  // namespace kq::tools
