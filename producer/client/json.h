// JSON values as plain data. Only json.cc includes the header of the parser, which is slow to compile. The parser is
// strict: it refuses comments, repeated keys and values that are nested too deep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.h"

namespace kq::producer {

struct Json;
struct JsonMember;
using JsonArray = std::vector<Json>;
using JsonObject = std::vector<JsonMember>;  // in the order of the text

struct Json {
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, JsonArray, JsonObject> value;

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value); }
  const bool* boolean() const { return std::get_if<bool>(&value); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value); }
  const std::string* text() const { return std::get_if<std::string>(&value); }
  const JsonArray* array() const { return std::get_if<JsonArray>(&value); }
  const JsonObject* object() const { return std::get_if<JsonObject>(&value); }
  const double* floating() const { return std::get_if<double>(&value); }

  // Returns a member of an object. Returns a null pointer where the value is no object, or the member is absent or
  // null.
  const Json* find(std::string_view key) const;
};

struct JsonMember {
  JsonMember(std::string_view its_name, Json its_value) : name(its_name), value(std::move(its_value)) {}

  std::string name;
  Json value;
};

inline constexpr std::size_t kJsonDepthMax = 32;

// Parses exactly one value. The error text about invalid JSON starts with the place: "column 7: ..." or "line 2, column
// 7: ...". A repeated key is named instead.
Expected<Json> parse_json(std::string_view text);

// Returns the value on one line, with the members of objects in their order.
std::string to_text(const Json& json);

// Returns the value on several lines, laid out as by Python's json.dump(..., indent=`step`). `inside` is the number of
// columns by which the value itself is indented.
std::string indented_text(const Json& json, std::size_t step, std::size_t inside = 0);

// Returns the text as a quoted JSON string. Bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

// Appends a quoted string or a finite number to a line, without a temporary string.
void append_json(std::string_view text, std::string& line);
void append_json(double value, std::string& line);

// Returns a short description of a value for error texts: "'abc'", "12", "a list".
std::string described(const Json& json);

}  // namespace kq::producer
