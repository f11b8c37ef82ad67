#include "producer/client/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace kq::producer {
namespace {

using Parser = nlohmann::json;

constexpr std::size_t kQuotedBytesMax = 64;  // bytes of the input that an error text quotes

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Returns the first kQuotedBytesMax bytes at most, followed by "..." where bytes are missing. It splits no character.
std::string front_of(std::string_view text) {
  if (text.size() <= kQuotedBytesMax) return std::string(text);
  std::size_t end = kQuotedBytesMax;
  while (end > 0 && continues_character(text[end])) --end;
  return std::string(text.substr(0, end)) + "...";
}
// Returns the last kQuotedBytesMax bytes at most, after "..." where bytes are missing. It splits no character.
std::string back_of(std::string_view text) {
  if (text.size() <= kQuotedBytesMax) return std::string(text);
  std::size_t begin = text.size() - kQuotedBytesMax;
  while (begin < text.size() && continues_character(text[begin])) ++begin;
  return "..." + std::string(text.substr(begin));
}

// Returns a key that the object has more than once, or a null pointer. It sorts the keys, because a line of JSON Lines
// may have a million of them.
const std::string* repeated_key(const JsonObject& members) {
  std::vector<const std::string*> keys;
  for (const JsonMember& member : members) keys.push_back(&member.name);
  std::ranges::sort(keys, {}, [](const std::string* key) -> const std::string& { return *key; });
  const auto found =
      std::ranges::adjacent_find(keys, [](const std::string* a, const std::string* b) { return *a == *b; });
  return found == keys.end() ? nullptr : *found;
}

// Returns the place of the last byte of `read`, the part of a text that was read: "line 2, column 7", without the line
// where it is the first.
std::string place_at_end(std::string_view read) {
  const std::size_t last_line = read.rfind('\n') + 1;  // 0 without a line end
  const auto line = std::ranges::count(read, '\n') + 1;
  return (line == 1 ? "" : "line " + std::to_string(line) + ", ") + "column " + std::to_string(read.size() - last_line);
}

// Builds a Json value from the events of the parser. A handler that returns false stops the parser.
class Builder final : public nlohmann::json_sax<Parser> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  bool null() override { return put(Json{nullptr}); }
  bool boolean(bool value) override { return put(Json{value}); }
  bool number_integer(number_integer_t value) override { return put(Json{value}); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      return put(Json{static_cast<double>(value)});
    }
    return put(Json{static_cast<std::int64_t>(value)});
  }
  bool number_float(number_float_t value, const string_t&) override { return put(Json{value}); }
  bool string(string_t& value) override { return put(Json{std::move(value)}); }
  bool binary(binary_t&) override { return refuse("binary is not JSON"); }
  bool start_object(std::size_t) override { return open(Json{JsonObject{}}); }
  bool start_array(std::size_t) override { return open(Json{JsonArray{}}); }
  bool end_object() override {
    const std::string* twice = repeated_key(std::get<JsonObject>(stack_.back().value));
    return twice == nullptr ? close() : refuse("key '" + front_of(*twice) + "' appears twice");
  }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    std::get<JsonObject>(stack_.back().value).emplace_back(value, Json{nullptr});
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) override {
    // About a number that is too large the parser's text has no place, and quotes the whole number.
    if (error.id == kNumberOverflow)
      return refuse(place_at_end(text_.substr(0, position)) + ": number overflow; last read: '" + back_of(token) + "'");
    return refuse(shortened(error.what()));
  }

  Json root{nullptr};
  std::string error_text;

 private:
  // Shortens an error text of the parser, such as "[json.exception.parse_error.101] parse error at line 1, column 8:
  // syntax error while parsing value - invalid literal; last read: '{"a": x'". The part that was read last may be the
  // whole input.
  static std::string shortened(std::string_view text) {
    for (const std::string_view lead : {"parse error at line 1, ", "parse error at ", "] "}) {
      const std::size_t at = text.find(lead);
      if (at == std::string_view::npos) continue;
      text.remove_prefix(at + lead.size());
      break;
    }
    constexpr std::string_view last_read = "last read: '";
    const std::size_t at = text.find(last_read);
    if (at == std::string_view::npos) return std::string(text);
    const std::size_t begin = at + last_read.size();
    return std::string(text.substr(0, begin)) + back_of(text.substr(begin));
  }

  bool refuse(std::string sentence) {
    error_text = std::move(sentence);
    return false;
  }
  bool open(Json container) {
    if (stack_.size() == kJsonDepthMax) return refuse("nested more than " + std::to_string(kJsonDepthMax) + " deep");
    stack_.push_back(std::move(container));
    return true;
  }
  bool close() {
    Json done = std::move(stack_.back());
    stack_.pop_back();
    return put(std::move(done));
  }
  bool put(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
    } else if (auto* items = std::get_if<JsonArray>(&stack_.back().value)) {
      items->push_back(std::move(value));
    } else {
      std::get<JsonObject>(stack_.back().value).back().value = std::move(value);
    }
    return true;
  }

  static constexpr int kNumberOverflow = 406;  // the parser's number of this error

  std::string_view text_;
  std::vector<Json> stack_;
};

struct Writer {
  std::string operator()(std::nullptr_t) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    if (!std::isfinite(value)) return "null";
    std::string text;
    append_json(value, text);
    return text;
  }
  std::string operator()(const std::string& value) const { return json_quoted(value); }
  std::string operator()(const JsonArray& items) const {
    std::string text = "[";
    for (const Json& item : items) text += (text.size() > 1 ? ", " : "") + to_text(item);
    return text + "]";
  }
  std::string operator()(const JsonObject& members) const {
    std::string text = "{";
    for (const auto& [key, value] : members) {
      text += (text.size() > 1 ? ", " : "") + json_quoted(key) + ": " + to_text(value);
    }
    return text + "}";
  }
};

}  // namespace

const Json* Json::find(std::string_view key) const {
  const JsonObject* members = object();
  if (members == nullptr) return nullptr;
  for (const auto& [name, member] : *members) {
    if (name == key) return member.is_null() ? nullptr : &member;
  }
  return nullptr;
}

Expected<Json> parse_json(std::string_view text) {
  Builder builder(text);
  try {
    if (Parser::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
    return bad_input(builder.error_text);
  } catch (const std::exception& error) {
    return bad_input(error.what());
  }
}

std::string to_text(const Json& json) {
  return std::visit(Writer{}, json.value);
}

std::string indented_text(const Json& json, std::size_t step, std::size_t inside) {
  const std::string space = "\n" + std::string(inside + step, ' ');
  const std::string last = "\n" + std::string(inside, ' ');
  std::string text;
  if (json.array() != nullptr && !json.array()->empty()) {
    for (const Json& item : *json.array())
      text += (text.empty() ? "[" : ",") + space + indented_text(item, step, inside + step);
    return text + last + "]";
  }
  if (json.object() != nullptr && !json.object()->empty()) {
    for (const auto& [key, value] : *json.object()) {
      text += (text.empty() ? "{" : ",") + space + json_quoted(key) + ": " + indented_text(value, step, inside + step);
    }
    return text + last + "}";
  }
  return to_text(json);
}

std::string json_quoted(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size() + 2);
  append_json(text, quoted);
  return quoted;
}

void append_json(std::string_view text, std::string& line) {
  // Most texts are plain, and for these a copy is much faster than the library.
  bool is_plain = true;
  for (const char c : text) is_plain &= c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
  if (!is_plain) {
    line += Parser(text).dump(-1, ' ', false, Parser::error_handler_t::replace);
    return;
  }
  line += '"';
  line += text;
  line += '"';
}

// Writes the shortest text that reads back as the same number. The text has a point or an exponent, because without one
// a reader would take 2.0 for an integer.
void append_json(double value, std::string& line) {
  char digits[32];
  const std::string_view text(
      digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits));
  line += text;
  if (text.find_first_of(".e") == std::string_view::npos) line += ".0";
}

std::string described(const Json& json) {
  if (const std::string* text = json.text()) return "'" + front_of(*text) + "'";
  if (json.array() != nullptr) return "a list";
  if (json.object() != nullptr) return "an object";
  return to_text(json);
}

}  // namespace kq::producer
