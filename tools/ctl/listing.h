// Prints rows as a table for people or as JSON for programs, with at most one page of rows in memory.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "producer/client/json.h"
#include "tools/cli/text.h"

namespace kq::tools {

inline constexpr std::size_t kListingPage = 256;  // rows that are printed together, with the same column widths

// Prints one list. In text mode the output is a table with a heading, or nothing when there are no rows. In JSON mode
// it is {"NAME": [OBJECT, ...], ...} with one row's object per line.
class Listing {
 public:
  Listing(std::ostream& out, bool json, std::string name, std::vector<TableColumn> columns);

  // Adds a row: `cells` are printed in text mode, `object` in JSON mode.
  void add(std::vector<std::string> cells, producer::JsonObject object);
  // Prints what is left. Must be called once, after the last row. `rest` holds further members of the JSON object.
  void finish(const producer::JsonObject& rest = {});

  std::size_t row_count() const { return row_count_; }

 private:
  void print_page();

  std::ostream& out_;
  bool json_;
  std::string name_;
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> page_;
  std::vector<std::size_t> widths_;
  std::size_t row_count_ = 0;
};

// Shorthands for the values of JSON members.
producer::Json json_text(std::string_view text);
producer::Json json_number(std::uint64_t number);
producer::Json json_texts(const std::vector<std::string>& texts);
producer::Json json_time(std::int64_t unix_ms);  // a number; null for 0, which means "not yet"

// Returns the words with a comma and a blank between them.
std::string joined(const std::vector<std::string>& words);

}  // namespace kq::tools
