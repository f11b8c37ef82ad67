// Helpers for the tests of formats.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "tools/exporters/exporter.h"

namespace kq::tools {

// A temporary folder that is removed at the end.
class ExportFolder {
 public:
  ExportFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kq-export.XXXXXX").string();
    KQ_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~ExportFolder() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

// Writes rows to `options.out` in one format and returns the notes for people.
inline std::vector<std::string> export_rows(const Exporter& exporter, ExportOptions options,
                                            const SelectionOptions& selected, const std::vector<RunRow>& rows) {
  const auto selection = Selection::make(selected, 0);
  KQ_CHECK(selection.has_value());
  auto opened = exporter.open(options, *selection);
  KQ_CHECK(opened.has_value());
  for (const RunRow& row : rows) KQ_CHECK((*opened)->add(row).has_value());
  KQ_CHECK((*opened)->finish().has_value());
  return (*opened)->notes();
}

// Returns the text of rows in a format that is one file.
inline std::string exported(std::string_view format, const std::vector<RunRow>& rows,
                            const SelectionOptions& words = {}, ExportOptions options = {}) {
  const ExportFolder folder;
  options.out = (folder / "out").string();
  export_rows(*find_exporter(format), options, words, rows);
  return folder.read("out");
}

}  // namespace kq::tools
