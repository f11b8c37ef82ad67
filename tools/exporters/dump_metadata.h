// The metadata of a dump, in FILE.meta.json beside the file. It is not in the file itself, because many readers of CSV
// accept no comments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/table/selection.h"

namespace kq::tools {

struct DumpMetadata {
  std::string file;  // path of the file that was written
  std::string run;
  std::string source;  // URL of the broker, or folder of the store
  std::string format;
  SelectionOptions selection;
  std::vector<std::string> columns;
  std::uint64_t row_count = 0;
  std::int64_t made_at_ms = 0;  // Unix time
};

inline constexpr std::string_view kDumpMetadataSchema = "kq.dump/1";

// Returns the names of the selected columns.
std::vector<std::string> names_of(const Selection& selection);

// Returns the metadata as one JSON object on several lines. `bytes` is the length of the dump.
std::string dump_metadata_text(const DumpMetadata& note, std::uint64_t bytes);

// Returns whether a file can be written beside `out`, which is not the case for standard output and devices.
bool can_have_metadata(const std::string& out);

// Writes FILE.meta.json, whole or not at all.
Expected<void> write_dump_metadata(const DumpMetadata& note);

}  // namespace kq::tools
