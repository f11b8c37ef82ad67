#include "producer/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace kq {
namespace {

using Parser = nlohmann::json;

// Builds our tree from the parser's events; returning false stops it.
class Builder final : public nlohmann::json_sax<Parser> {
 public:
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
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    auto& members = std::get<JsonObject>(stack_.back().value);
    const auto same = [&](const auto& member) { return member.first == value; };
    if (std::any_of(members.begin(), members.end(), same)) return refuse("key '" + value + "' appears twice");
    members.emplace_back(std::move(value), Json{nullptr});
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    return refuse(shortened(error.what()));
  }

  Json root{nullptr};
  std::string complaint;

 private:
  // "[json.exception.parse_error.101] parse error at line 1, column 8: syntax error while parsing value - invalid
  // literal; ..."
  static std::string shortened(std::string_view text) {
    for (const std::string_view lead : {"parse error at line 1, ", "parse error at ", "] "}) {
      const std::size_t at = text.find(lead);
      if (at != std::string_view::npos) return std::string(text.substr(at + lead.size()));
    }
    return std::string(text);
  }

  bool refuse(std::string sentence) {
    complaint = std::move(sentence);
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
      std::get<JsonObject>(stack_.back().value).back().second = std::move(value);
    }
    return true;
  }

  std::vector<Json> stack_;
};

struct Writer {
  std::string operator()(std::nullptr_t) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return Parser(value).dump(); }
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
  Builder builder;
  try {
    if (Parser::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
    return bad_input(builder.complaint);
  } catch (const std::exception& error) {
    return bad_input(error.what());
  }
}

std::string to_text(const Json& json) {
  return std::visit(Writer{}, json.value);
}

std::string json_quoted(std::string_view text) {
  return Parser(text).dump(-1, ' ', false, Parser::error_handler_t::replace);
}

std::string described(const Json& json) {
  constexpr std::size_t text_max = 64;
  if (const std::string* text = json.text()) {
    return "'" + text->substr(0, text_max) + (text->size() > text_max ? "..." : "") + "'";
  }
  if (json.array() != nullptr) return "a list";
  if (json.object() != nullptr) return "an object";
  return to_text(json);
}

}  // namespace kq
