// JSON as plain data, so that only json.cc pays for the parser's header. Strict: no comments, no duplicate keys,
// bounded depth.
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

  // A member of an object; null where this is no object, or has no such member, or the member is null.
  const Json* find(std::string_view key) const;
};

struct JsonMember {
  JsonMember(std::string_view its_name, Json its_value) : name(its_name), value(std::move(its_value)) {}

  std::string name;
  Json value;
};

inline constexpr std::size_t kJsonDepthMax = 32;

// One value and nothing behind it. The sentence is "column 7: ..." or "line 2, column 7: ...".
Expected<Json> parse_json(std::string_view text);

// On one line, members in their order.
std::string to_text(const Json& json);

// On many lines, as Python's json.dump(..., indent=`step`) lays it out; `inside` is how far the value itself stands in.
std::string indented_text(const Json& json, std::size_t step, std::size_t inside = 0);

// With quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

// The same, and the text of a finite number, at the end of a line that grows: for those who write a million.
void append_json(std::string_view text, std::string& line);
void append_json(double value, std::string& line);

// What a value is, for complaints: "'abc'", "12", "a list".
std::string described(const Json& json);

}  // namespace kq::producer
