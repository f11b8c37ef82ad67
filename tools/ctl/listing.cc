#include "tools/ctl/listing.h"

#include <ostream>
#include <utility>

namespace kq::tools {

Listing::Listing(std::ostream& out, bool json, std::string name, std::vector<TableColumn> columns)
    : out_(out), json_(json), name_(std::move(name)), columns_(std::move(columns)) {}

void Listing::add(std::vector<std::string> cells, producer::JsonObject object) {
  if (json_) {
    out_ << (row_count_ == 0 ? "{" + producer::json_quoted(name_) + ": [\n" : ",\n")
         << producer::to_text(producer::Json{std::move(object)});
  } else {
    page_.push_back(std::move(cells));
    if (page_.size() == kListingPage) print_page();
  }
  ++row_count_;
}

void Listing::finish(const producer::JsonObject& rest) {
  if (!json_) {
    print_page();
    return;
  }
  out_ << (row_count_ == 0 ? "{" + producer::json_quoted(name_) + ": [" : "\n") << "]";
  for (const auto& [name, value] : rest)
    out_ << ", " << producer::json_quoted(name) << ": " << producer::to_text(value);
  out_ << "}\n";
}

void Listing::print_page() {
  if (page_.empty()) return;
  out_ << table_piece(columns_, page_, widths_);
  page_.clear();
}

producer::Json json_text(std::string_view text) {
  return producer::Json{std::string(text)};
}

producer::Json json_number(std::uint64_t number) {
  return producer::Json{static_cast<std::int64_t>(number)};
}

producer::Json json_texts(const std::vector<std::string>& texts) {
  producer::JsonArray array;
  for (const std::string& text : texts) array.push_back(json_text(text));
  return producer::Json{std::move(array)};
}

producer::Json json_time(std::int64_t unix_ms) {
  return unix_ms == 0 ? producer::Json{nullptr} : producer::Json{unix_ms};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace kq::tools
