#include "guard/cuda_tokens.h"

#include <string>

namespace kq {
namespace {

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

// What may stand before the quote of a raw string. Any other name that ends in R is a macro before an ordinary one.
bool opens_raw_string(std::string_view name) { return name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R"; }

// Of a raw string, in R"mark( ... )mark" (C++20, [lex.string]). Without the limit a source of many R" would be searched to its end for each.
constexpr std::size_t kRawMarkBytesMax = 16;

// Walks a source character by character, counting lines, with one function per kind of text to pass over.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Fact> facts(std::string_view file) {
    std::vector<Fact> found;
    while (at_ < text_.size()) {
      const std::uint32_t line = line_;
      const std::string_view name = next();
      if (!name.empty()) found.push_back({.file = file, .line = line, .kind = FactKind::value, .name = name, .argument = {}});
    }
    return found;
  }

 private:
  // Passes one token; its text if it is an identifier.
  std::string_view next() {
    const char c = text_[at_];
    if (starts_name(c)) {
      const std::size_t first = at_;
      while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
      const std::string_view name = text_.substr(first, at_ - first);
      if (!rest().starts_with('"') || !opens_raw_string(name)) return name;
      pass_raw_string();
      return {};
    }
    if (rest().starts_with("//")) {
      pass_until("\n");
    } else if (rest().starts_with("/*")) {
      at_ += 2;
      pass_until("*/");
    } else if (c == '"' || c == '\'') {
      pass_quoted(c);
    } else if (c >= '0' && c <= '9') {
      // 1'000'000, 0x1f, 1e5f: a quote inside a number starts no literal.
      while (at_ < text_.size() && (continues_name(text_[at_]) || text_[at_] == '\'' || text_[at_] == '.')) ++at_;
    } else {
      step();
    }
    return {};
  }

  std::string_view rest() const { return text_.substr(at_); }

  void step() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }

  // Past the end of `mark`, or of the source.
  void pass_until(std::string_view mark) {
    const std::size_t found = text_.find(mark, at_);
    const std::size_t end = found == std::string_view::npos ? text_.size() : found + mark.size();
    while (at_ < end) step();
  }

  void pass_quoted(char quote) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) step();
      step();
    }
    if (at_ < text_.size()) step();
  }

  // R"mark( ... )mark"; what no compiler takes for one is passed as an ordinary string.
  void pass_raw_string() {
    const std::string_view front = text_.substr(at_ + 1, kRawMarkBytesMax + 1);
    const std::size_t open = front.find_first_of("()\"\\ \t\v\f\r\n");
    if (open == std::string_view::npos || front[open] != '(') return pass_quoted('"');
    pass_until(")" + std::string(front.substr(0, open)) + "\"");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

std::vector<Fact> cuda_facts(std::string_view source, std::string_view file) { return Lexer(source).facts(file); }

}  // namespace kq
