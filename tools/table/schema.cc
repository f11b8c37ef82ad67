#include "tools/table/schema.h"

#include "tools/cli/text.h"

namespace kq::tools {
namespace {

producer::Json text(std::string_view value) {
  return producer::Json{std::string(value)};
}

// Every value may be null. An integer may be text, because a large one would be rounded by readers that use doubles.
producer::JsonArray types_of(ColumnType type) {
  switch (type) {
    case ColumnType::text:
    case ColumnType::time:
      return {text("string"), text("null")};
    case ColumnType::integer:
      return {text("integer"), text("string"), text("null")};
    case ColumnType::number:
      return {text("number"), text("null")};
    case ColumnType::boolean:
      return {text("boolean"), text("null")};
  }
  return {};
}

producer::Json property_of(const SelectedColumn& column) {
  producer::JsonObject property;
  if (column.name() == "schema") {
    property.emplace_back("const", text(kRowSchema));
  } else {
    property.emplace_back("type", producer::Json{types_of(column.type())});
  }
  if (column.type() == ColumnType::time) property.emplace_back("format", text("date-time"));
  property.emplace_back("description", text(column.doc()));
  if (!column.unit().empty()) property.emplace_back("unit", text(column.unit()));
  return producer::Json{std::move(property)};
}

}  // namespace

std::string schema_table(const Selection& selection) {
  std::vector<std::vector<std::string>> cells;
  for (const SelectedColumn& column : selection.columns()) {
    cells.push_back({std::string(column.name()), column.unit().empty() ? "-" : std::string(column.unit()),
                     std::string(column.doc())});
  }
  return table({{"column"}, {"unit"}, {"meaning"}}, cells);
}

std::string json_schema(const Selection& selection) {
  producer::JsonObject properties;
  producer::JsonArray required;
  for (const SelectedColumn& column : selection.columns()) {
    properties.emplace_back(column.name(), property_of(column));
    required.push_back(text(column.name()));
  }
  return producer::indented_text(producer::Json{producer::JsonObject{
                                     {"$schema", text("https://json-schema.org/draft/2020-12/schema")},
                                     {"title", text(kRowSchema)},
                                     {"description", text("One line of kq-dump --format jsonl. Columns are only "
                                                          "added; readers must ignore unknown columns.")},
                                     {"type", text("object")},
                                     {"properties", producer::Json{std::move(properties)}},
                                     {"required", producer::Json{std::move(required)}}}},
                                 2) +
         "\n";
}

}  // namespace kq::tools
