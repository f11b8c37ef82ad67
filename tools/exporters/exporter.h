// The formats kq-dump writes: one file each beside this one, and one row each in the table. To add a format, add both.
//
// csv.cc and jsonl.cc are the shortest examples, kernelbench.cc the one that writes several files; docs/design/extending.md
// goes through them.
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
  std::string out = "-";  // a file, or the folder of a format that writes several
  bool excel_safe = false;
  bool strict = false;  // names of the other system's verdicts exactly as it would have given them
  bool merge = false;   // what a file in its place says of other rows stays
  std::vector<std::uint32_t> pass_at_k = {1};
};

// One dump under way. What it writes appears whole, in finish(), or not at all.
class Export {
 public:
  virtual ~Export() = default;
  virtual Expected<void> add(const RunRow& row) = 0;  // in label order
  virtual Expected<void> finish() = 0;
  virtual std::uint64_t row_count() const = 0;                      // that were written
  virtual std::vector<std::string> notes() const { return {}; }  // sentences for people: what was left out, and why
};

struct Exporter {
  std::string_view name;
  std::string_view doc;
  bool writes_folder;
  Expected<std::unique_ptr<Export>> (*open)(const ExportOptions& options,
                                            const Selection& selection);  // the selection outlives it
};

std::span<const Exporter> exporters();

// Null for an unknown name.
const Exporter* find_exporter(std::string_view name);
// What there is instead, and how Parquet is made.
Error unknown_format(const std::string& name);

// One per file beside this one.
Expected<std::unique_ptr<Export>> open_csv(const ExportOptions& options, const Selection& selection);
Expected<std::unique_ptr<Export>> open_jsonl(const ExportOptions& options, const Selection& selection);
Expected<std::unique_ptr<Export>> open_kernelbench(const ExportOptions& options, const Selection& selection);

// For formats that are one file of lines: a header, then a line per selected row.
using AppendLine = std::function<void(std::span<const Cell> cells, std::string& line)>;
Expected<std::unique_ptr<Export>> open_lines(const ExportOptions& options, const Selection& selection,
                                             std::string header, AppendLine append);

}  // namespace kq::tools
