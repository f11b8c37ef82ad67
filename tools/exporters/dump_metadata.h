// What a dump says of itself, beside its file: FILE.meta.json. The file itself has no room for it: a comment in a CSV
// breaks its readers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/table/selection.h"

namespace kq::tools {

struct DumpMetadata {
  std::string file;  // that was written
  std::string run;
  std::string source;  // the broker's URL, or the store's folder
  std::string format;
  SelectionOptions words;  // as they were given
  std::vector<std::string> columns;
  std::uint64_t row_count = 0;
  std::int64_t made_at_ms = 0;  // Unix time
};

inline constexpr std::string_view kDumpMetadataSchema = "kq.dump/1";

std::vector<std::string> names_of(const Selection& selection);

// One JSON object on many lines.
std::string dump_metadata_text(const DumpMetadata& note, std::uint64_t bytes);

// Whether a note can lie beside what was written: standard output and devices have no place for it.
bool can_have_metadata(const std::string& out);

// Writes it, with the file's length; whole or not at all, as the file.
Expected<void> write_dump_metadata(const DumpMetadata& note);

}  // namespace kq::tools
