// Rows for people or for programs, as they come: never more than a page of them in memory.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "producer/client/json.h"
#include "tools/cli/text.h"

namespace kq::tools {

inline constexpr std::size_t kListingPage = 256;  // rows that share their widths, and are printed together

// As text a table, heading first, or nothing at all without rows; as JSON {"NAME": [OBJECT, ...], ...}, an object a
// line.
class Listing {
 public:
  Listing(std::ostream& out, bool json, std::string name, std::vector<TableColumn> columns);

  void add(std::vector<std::string> cells, producer::JsonObject object);
  // Nothing can be added any more. `rest` are further members of the JSON object.
  void finish(const producer::JsonObject& rest = {});

  std::size_t rows_n() const { return rows_n_; }

 private:
  void print_page();

  std::ostream& out_;
  bool json_;
  std::string name_;
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> page_;
  std::vector<std::size_t> widths_;
  std::size_t rows_n_ = 0;
};

// Shorthands for the members of those objects.
producer::Json json_text(std::string_view text);
producer::Json json_number(std::uint64_t number);
producer::Json json_texts(const std::vector<std::string>& texts);
producer::Json json_time(std::int64_t unix_ms);  // as a number; null for 0

}  // namespace kq::tools
