#include "producer/formats/backendbench/record.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "producer/formats/recognise.h"

namespace kq::producer::backendbench {
namespace {

struct Dtype {
  std::string_view abbreviation, name;
  std::uint32_t bytes;
};
constexpr Dtype kDtypes[] = {{"bf16", "bfloat16", 2},    {"f64", "float64", 8},   {"f32", "float32", 4},
                             {"f16", "float16", 2},      {"c32", "complex32", 4}, {"c64", "complex64", 8},
                             {"c128", "complex128", 16}, {"i8", "int8", 1},       {"i16", "int16", 2},
                             {"i32", "int32", 4},        {"i64", "int64", 8},     {"b8", "bool", 1},
                             {"u8", "uint8", 1}};

const Dtype* find_dtype(std::string_view word) {
  const auto* const found = std::ranges::find_if(
      kDtypes, [&](const Dtype& dtype) { return dtype.abbreviation == word || dtype.name == word; });
  return found == std::end(kDtypes) ? nullptr : found;
}

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Json object(std::string_view key, Json value) {
  JsonObject members;
  members.emplace_back(key, std::move(value));
  return Json{std::move(members)};
}

Json torch_member(std::string_view name) {
  return object("torch", Json{std::string(name)});
}

// Appends a character to UTF-8 text.
void append_utf8(std::uint32_t c, std::string& text) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) return put(c);
  const int tail = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  put(kLead[tail] | c >> 6 * tail);
  for (int i = tail - 1; i >= 0; --i) put(0x80 | (c >> 6 * i & 0x3F));
}

// Parses one text. Each function reads what its name says from the present place on, and stops behind it.
class Parser {
 public:
  explicit Parser(std::string_view text, std::size_t depth = 0) : text_(text), depth_(depth) {}

  Expected<Record> record() {
    const std::size_t begin = place();
    KQ_TRY_VALUE(Json all, value());
    if (place() != text_.size()) return wrong("the record ends before this");
    const JsonArray* const parts = items(all, "tuple");
    if (parts == nullptr || parts->size() != 2 || items((*parts)[0], "tuple") == nullptr ||
        (*parts)[1].find("named") == nullptr) {
      at_ = begin;
      return wrong("expected a pair of a tuple and a dict of named arguments");
    }
    return Record{*items((*parts)[0], "tuple"), *(*parts)[1].find("named")->object(), tensor_bytes_};
  }

  // Reads a whole text as a call of torch.device.
  Expected<Json> whole_device() {
    KQ_TRY_VALUE(Json device, value());
    if (device.find("device") == nullptr || place() != text_.size()) return wrong("expected torch.device(...)");
    return device;
  }

 private:
  static const JsonArray* items(const Json& json, std::string_view kind) {
    const Json* const found = json.find(kind);
    return found == nullptr ? nullptr : found->array();
  }

  tl::unexpected<Error> wrong(const std::string& sentence) const {
    return bad_input("column " + std::to_string(at_ + 1) + ": " + sentence);
  }

  // Skips white space, and returns the place of what follows.
  std::size_t place() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    return at_;
  }
  char next() { return place() < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (next() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  Expected<void> need(char c) {
    if (take(c)) return {};
    return wrong("expected '" + std::string(1, c) + "'");
  }

  Expected<Json> value() {
    if (++depth_ > kRecordDepthMax)
      return wrong("more than " + std::to_string(kRecordDepthMax) + " values lie inside one another");
    auto read = any_value();
    --depth_;
    return read;
  }

  Expected<Json> any_value() {
    const char c = next();
    if (at_ == text_.size()) return wrong("the record ends too early");
    if (c == '(') return tuple();
    if (c == '[') return sequence(']', "list");
    if (c == '{') return named();
    if (c == '\'' || c == '"') return quoted();
    if (c == '-' || c == '+' || c == '.' || is_digit(c)) return number();
    if (is_name_start(c)) return word();
    return wrong("expected a value");
  }

  // Reads the values up to the closing bracket, behind the opening one. `commas` counts the commas.
  Expected<JsonArray> values_until(char closing, std::size_t& commas) {
    JsonArray values;
    ++at_;
    while (!take(closing)) {
      if (!values.empty() && commas < values.size()) return wrong("expected ',' or '" + std::string(1, closing) + "'");
      KQ_TRY_VALUE(Json one, value());
      values.push_back(std::move(one));
      if (take(',')) ++commas;
    }
    return values;
  }

  Expected<Json> sequence(char closing, std::string_view kind) {
    std::size_t commas = 0;
    KQ_TRY_VALUE(JsonArray values, values_until(closing, commas));
    return object(kind, Json{std::move(values)});
  }

  // In Python (x) is x, and only (x,) is a tuple.
  Expected<Json> tuple() {
    std::size_t commas = 0;
    KQ_TRY_VALUE(JsonArray values, values_until(')', commas));
    if (values.size() == 1 && commas == 0) return std::move(values.front());
    return object("tuple", Json{std::move(values)});
  }

  // Reads a dict, which only named arguments have. The later one of two equal names counts, as in Python.
  Expected<Json> named() {
    if (depth_ != 2) return wrong("a dict has only named arguments, as the second part of the pair");
    JsonObject members;
    ++at_;
    for (bool is_first = true; !take('}'); is_first = false) {
      if (!is_first) {
        KQ_TRY(need(','));
        if (take('}')) break;
      }
      if (next() != '\'' && next() != '"') return wrong("expected the name of an argument between quotation marks");
      KQ_TRY_VALUE(std::string name, string());
      if (!is_identifier(name)) return wrong("'" + name + "' is no name of an argument");
      KQ_TRY(need(':'));
      KQ_TRY_VALUE(Json its_value, value());
      std::erase_if(members, [&](const JsonMember& member) { return member.name == name; });
      members.emplace_back(name, std::move(its_value));
    }
    return object("named", Json{std::move(members)});
  }

  Expected<Json> quoted() {
    const std::size_t begin = at_;
    KQ_TRY_VALUE(std::string text, string());
    const Dtype* const dtype = find_dtype(text);
    if (dtype != nullptr && dtype->abbreviation == text) return torch_member(dtype->name);
    if (!text.starts_with("torch.device(")) return Json{std::move(text)};
    auto device = Parser(text, depth_).whole_device();
    if (device) return device;
    at_ = begin;
    return wrong("the text is no torch.device(...)");
  }

  Expected<std::string> string() {
    const char mark = text_[at_++];
    std::string text;
    for (;;) {
      if (at_ == text_.size() || text_[at_] == '\n') return wrong("a text has no closing quotation mark");
      const char c = text_[at_++];
      if (c == mark) return text;
      if (c != '\\') {
        text += c;
      } else if (const auto read = escape(text); !read) {
        return tl::unexpected(read.error());
      }
    }
  }

  // Reads what follows a backslash in a text.
  Expected<void> escape(std::string& text) {
    constexpr std::pair<char, char> kEscapes[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'\\', '\\'}, {'\'', '\''},
                                                  {'"', '"'},  {'a', '\a'}, {'b', '\b'}, {'f', '\f'},  {'v', '\v'}};
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    for (const auto& [letter, meaning] : kEscapes) {
      if (letter != c) continue;
      ++at_;
      text += meaning;
      return {};
    }
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    std::uint32_t code = 0;
    const std::string_view hex = text_.substr(std::min(at_ + 1, text_.size()), digits);
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    const bool is_read = digits > 0 && hex.size() == digits && error == std::errc{} && end == hex.data() + hex.size();
    if (!is_read || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      return wrong("an escape other than \\n, \\t, \\r, \\\\, \\', \\\", \\xHH, \\uHHHH and \\UHHHHHHHH");
    at_ += 1 + digits;
    append_utf8(code, text);
    return {};
  }

  // Reads a number, or inf behind a sign.
  Expected<Json> number() {
    const std::size_t begin = at_;
    const bool is_negative = text_[at_] == '-';
    if (text_[at_] == '-' || text_[at_] == '+') ++at_;
    if (text_.substr(at_).starts_with("inf") && (at_ + 3 == text_.size() || !is_name_start(text_[at_ + 3]))) {
      at_ += 3;
      return object("number", Json{std::string(is_negative ? "-inf" : "inf")});
    }
    const std::size_t digits_begin = at_;
    const auto skip_digits = [&] {
      const std::size_t from = at_;
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
      return at_ - from;
    };
    const std::size_t whole = skip_digits();
    const bool has_point = at_ < text_.size() && text_[at_] == '.';
    if (has_point) ++at_;
    const std::size_t fraction = has_point ? skip_digits() : 0;
    bool has_exponent = false;
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
      has_exponent = skip_digits() > 0;
      if (!has_exponent) return wrong("expected the digits of an exponent");
    }
    const bool ends_well = at_ == text_.size() || (!is_name_start(text_[at_]) && !is_digit(text_[at_]));
    if (whole + fraction == 0 || !ends_well) {
      at_ = begin;
      return wrong("expected a number");
    }
    const std::string_view digits = text_.substr(digits_begin, at_ - digits_begin);
    if (!has_point && !has_exponent) return integer(digits, is_negative, begin);
    double real = 0;
    const std::string in_full = (is_negative ? "-" : "") + std::string(whole == 0 ? "0" : "") + std::string(digits);
    const auto [end, error] = std::from_chars(in_full.data(), in_full.data() + in_full.size(), real);
    if (error == std::errc::result_out_of_range) {
      at_ = begin;
      return wrong("the number is beyond what a float holds");
    }
    return Json{real};
  }

  Expected<Json> integer(std::string_view digits, bool is_negative, std::size_t begin) {
    const bool is_padded = digits.size() > 1 && digits.front() == '0' &&
                           digits.find_first_not_of('0') != std::string_view::npos;  // Python takes 00, but not 01
    std::int64_t whole = 0;
    const std::string in_full = (is_negative ? "-" : "") + std::string(digits);
    const auto [end, error] = std::from_chars(in_full.data(), in_full.data() + in_full.size(), whole);
    if (error == std::errc{} && !is_padded) return Json{whole};
    at_ = begin;
    return wrong(is_padded ? "an integer begins with 0" : "the integer needs more than 64 bits");
  }

  std::string_view name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Reads a value that begins with a letter.
  Expected<Json> word() {
    const std::size_t begin = at_;
    const std::string_view first = name();
    if (first == "True" || first == "False") return Json{first == "True"};
    if (first == "None") return Json{nullptr};
    if (first == "inf" || first == "nan") return object("number", Json{std::string(first)});
    if (first == "T" && next() == '(') return tensor();
    const Dtype* const dtype = find_dtype(first);
    if (dtype != nullptr && dtype->abbreviation == first) return torch_member(dtype->name);
    if ((first == "torch" || first == "th") && take('.')) {
      const std::string_view member = name();
      if (member == "device" && next() == '(') return device();
      if (!member.empty()) return torch_member(member);
    }
    at_ = begin;
    return wrong("'" + std::string(first) +
                 "' is no value; expected T(...), a dtype such as f32, torch.NAME, a number");
  }

  Expected<Json> device() {
    ++at_;
    if (next() != '\'' && next() != '"') return wrong("expected the name of a device between quotation marks");
    KQ_TRY_VALUE(std::string kind, string());
    JsonObject members;
    members.emplace_back("device", Json{std::move(kind)});
    if (take(',') && next() != ')') {
      KQ_TRY_VALUE(Json index, value());
      if (index.integer() == nullptr) return wrong("the index of a device is no integer");
      members.emplace_back("index", std::move(index));
    }
    KQ_TRY(need(')'));
    return Json{std::move(members)};
  }

  Expected<Json> tensor() {
    const std::size_t begin = at_;
    ++at_;
    KQ_TRY_VALUE(JsonArray shape, integers("sizes"));
    KQ_TRY(need(','));
    KQ_TRY_VALUE(const Json dtype_value, value());
    const Json* const member = dtype_value.find("torch");
    const Dtype* const dtype = member == nullptr ? nullptr : find_dtype(*member->text());
    if (dtype == nullptr) return wrong("expected a dtype such as f32 before this");
    JsonObject members;
    std::optional<JsonArray> strides;
    while (take(',')) {
      if (next() == ')') break;
      if (next() == '[' && !strides) {
        KQ_TRY_VALUE(strides, integers("strides"));
      } else {
        KQ_TRY(device_argument());
      }
    }
    KQ_TRY(need(')'));
    const bool fits = !strides || strides->size() == shape.size();
    if (!fits || ++tensors_ > kRecordTensorsMax || !add_bytes(shape, dtype->bytes)) {
      at_ = begin;
      return wrong(!fits ? "a tensor has as many strides as sizes"
                         : "more than " + std::to_string(kRecordTensorsMax) + " tensors, or tensors of 2^63 bytes");
    }
    members.emplace_back("tensor", Json{std::move(shape)});
    members.emplace_back("dtype", Json{std::string(dtype->name)});
    if (strides) members.emplace_back("strides", Json{std::move(*strides)});
    return Json{std::move(members)};
  }

  // Reads the device of a tensor, which does not count: the tensor is made where the job runs.
  Expected<void> device_argument() {
    if (is_name_start(next()) && text_.substr(at_).starts_with("device")) {
      at_ += std::string_view("device").size();
      KQ_TRY(need('='));
    }
    KQ_TRY_VALUE(const Json given, value());
    if (given.text() == nullptr && given.find("device") == nullptr) return wrong("expected a device before this");
    return {};
  }

  // Reads a list of integers from 0 on.
  Expected<JsonArray> integers(const char* what) {
    const std::size_t begin = place();
    if (next() != '[') return wrong(std::string("expected the list of the tensor's ") + what);
    KQ_TRY_VALUE(Json list, value());
    JsonArray values = *items(list, "list");
    const bool fits = values.size() <= kTensorDimensionsMax && std::ranges::all_of(values, [](const Json& one) {
                        return one.integer() != nullptr && *one.integer() >= 0;
                      });
    if (fits) return values;
    at_ = begin;
    return wrong(std::string("the ") + what + " of a tensor are at most " + std::to_string(kTensorDimensionsMax) +
                 " integers from 0 on");
  }

  // Adds the bytes of a tensor. Returns whether the sum has 63 bits or fewer.
  bool add_bytes(const JsonArray& shape, std::uint64_t bytes) {
    for (const Json& size : shape) {
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(*size.integer()), &bytes)) return false;
    }
    return !__builtin_add_overflow(tensor_bytes_, bytes, &tensor_bytes_) &&
           tensor_bytes_ <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_;
  std::size_t tensors_ = 0;
  std::uint64_t tensor_bytes_ = 0;
};

}  // namespace

Expected<Record> parse_record(std::string_view text) {
  if (text.size() > kRecordBytesMax)
    return bad_input("column 1: the record has more than " + std::to_string(kRecordBytesMax) + " bytes");
  constexpr std::string_view kBlank = " \t\r\n";
  const auto trim = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    text.remove_suffix(text.size() - std::min(text.find_last_not_of(kBlank) + 1, text.size()));
  };
  trim();
  if (text.size() > 1 && text.front() == text.back() && (text.front() == '\'' || text.front() == '"')) {
    text = text.substr(1, text.size() - 2);
    trim();
  }
  return Parser(text).record();
}

}  // namespace kq::producer::backendbench
