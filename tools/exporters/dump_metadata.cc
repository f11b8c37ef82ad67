#include "tools/exporters/dump_metadata.h"

#include <filesystem>

#include "core/base/version.h"
#include "producer/client/json.h"
#include "tools/cli/output_file.h"
#include "tools/table/columns.h"

namespace kq::tools {
namespace {

producer::Json text(std::string_view value) {
  return value.empty() ? producer::Json{nullptr} : producer::Json{std::string(value)};
}

producer::Json texts(const std::vector<std::string>& values) {
  producer::JsonArray array;
  for (const std::string& value : values) array.push_back(producer::Json{value});
  return producer::Json{std::move(array)};
}

producer::Json number(std::uint64_t value) {
  return producer::Json{static_cast<std::int64_t>(value)};
}

}  // namespace

std::vector<std::string> names_of(const Selection& selection) {
  std::vector<std::string> names;
  for (const SelectedColumn& column : selection.columns()) names.emplace_back(column.name());
  return names;
}

std::string dump_metadata_text(const DumpMetadata& note, std::uint64_t bytes) {
  const producer::JsonObject object{{"schema", text(kDumpMetadataSchema)},
                                    {"file", text(std::filesystem::path(note.file).filename().string())},
                                    {"bytes", number(bytes)},
                                    {"rows", number(note.row_count)},
                                    {"made_at", to_json(utc_time(note.made_at_ms))},
                                    {"kq_version", text(kVersion)},
                                    {"run", text(note.run)},
                                    {"source", text(note.source)},
                                    {"format", text(note.format)},
                                    {"row_schema", text(kRowSchema)},
                                    {"level", text(note.words.level)},
                                    {"where", texts(note.words.where)},
                                    {"since", text(note.words.since)},
                                    {"columns", texts(note.columns)}};
  return producer::indented_text(producer::Json{object}, 2) + "\n";
}

bool can_have_metadata(const std::string& out) {
  std::error_code ignored;
  return out != "-" && std::filesystem::is_regular_file(out, ignored);
}

Expected<void> write_dump_metadata(const DumpMetadata& note) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(note.file, error);
  if (error) return our_fault("cannot read the length of " + note.file + ": " + error.message());
  Expected<OutputFile> file = OutputFile::open(note.file + ".meta.json");
  if (!file) return failure(file.error());
  if (const auto written = file->write(dump_metadata_text(note, bytes)); !written) return written;
  return file->commit();
}

}  // namespace kq::tools
