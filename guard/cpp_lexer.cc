#include "guard/cpp_lexer.h"

#include <algorithm>
#include <array>

namespace kq::guard {
namespace {

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool continues_name(char c) {
  return starts_name(c) || is_digit(c);
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// Returns whether a name is the prefix of a raw string. Any other name that ends in R is a macro before an ordinary
// string.
bool opens_raw_string(std::string_view name) {
  return name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R";
}
bool opens_string(std::string_view name) {
  return name == "L" || name == "u" || name == "U" || name == "u8";
}

// The longest delimiter of a raw string, the `mark` of R"mark( ... )mark" (C++20, [lex.string]). Without this limit a
// source with many R" would be searched to its end for each of them.
constexpr std::size_t kRawMarkBytesMax = 16;

// The punctuation of several characters, longest first.
constexpr std::array<std::string_view, 16> kPunctuation{"%:%:", "<<<", ">>>", "...", "<<=", ">>=", "->*", "##",
                                                        "::",   "->",  "<<",  ">>",  "%:",  "==",  "&&",  "||"};

// Steps through a text, with one function per kind of token.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  bool saw_space() const { return saw_space_; }
  bool saw_line_end() const { return saw_line_end_; }

  // Advances to the next token. Returns false at the end of the text.
  bool pass_blanks() {
    saw_space_ = saw_line_end_ = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') saw_line_end_ = true;
      if (c == '\n' || is_blank(c)) {
        ++at_;
      } else if (rest().starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest().starts_with("/*")) {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return true;
      }
      saw_space_ = true;
    }
    return false;
  }

  TokenKind pass_token() {
    const char c = text_[at_];
    if (starts_name(c)) return pass_name();
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return pass_number();
    if (c == '"' || c == '\'') return pass_quoted(c);
    for (const std::string_view known : kPunctuation) {
      if (rest().starts_with(known)) {
        at_ += known.size();
        return TokenKind::punctuation;
      }
    }
    ++at_;
    return TokenKind::punctuation;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  TokenKind pass_name() {
    const std::size_t first = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(first, at_ - first);
    if (at_ == text_.size()) return TokenKind::name;
    if (text_[at_] == '"' && opens_raw_string(name)) return pass_raw_string();
    if ((text_[at_] == '"' || text_[at_] == '\'') && opens_string(name)) return pass_quoted(text_[at_]);
    return TokenKind::name;
  }

  // 1'000'000, 0x1f, 1e-5f: a quote inside a number starts no literal.
  TokenKind pass_number() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool is_quote = c == '\'' && at_ + 1 < text_.size() && continues_name(text_[at_ + 1]);
      const bool is_sign = (c == '+' || c == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E' ||
                                                      text_[at_ - 1] == 'p' || text_[at_ - 1] == 'P');
      if (!continues_name(c) && c != '.' && !is_quote && !is_sign) break;
      ++at_;
    }
    return TokenKind::number;
  }

  TokenKind pass_quoted(char quote) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n')
      at_ += text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    if (at_ < text_.size() && text_[at_] == quote) ++at_;
    return quote == '"' ? TokenKind::text : TokenKind::character;
  }

  // R"mark( ... )mark". Text that no compiler reads as a raw string is passed as an ordinary string.
  TokenKind pass_raw_string() {
    const std::string_view front = text_.substr(at_ + 1, kRawMarkBytesMax + 1);
    const std::size_t open = front.find_first_of("()\"\\ \t\v\f\r\n");
    if (open == std::string_view::npos || front[open] != '(') return pass_quoted('"');
    const std::string mark = ")" + std::string(front.substr(0, open)) + "\"";
    const std::size_t end = text_.find(mark, at_ + 1 + open);
    at_ = end == std::string_view::npos ? text_.size() : end + mark.size();
    return TokenKind::text;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool saw_space_ = false;
  bool saw_line_end_ = false;
};

}  // namespace

std::string_view content_of(std::string_view literal) {
  const std::size_t open = literal.find('"');
  if (open == std::string_view::npos || literal.size() < open + 2) return literal;
  std::string_view inside = literal.substr(open + 1, literal.size() - open - 2);
  if (open == 0 || literal[open - 1] != 'R') return inside;
  const std::size_t left = inside.find('('), right = inside.rfind(')');
  return left < right && right != std::string_view::npos ? inside.substr(left + 1, right - left - 1) : inside;
}

CppText::CppText(std::string_view source) {
  text_.reserve(source.size() + 1);
  starts_.push_back({0, 1});
  std::uint32_t line = 1;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '\\') {
      // Compilers ignore blanks between the backslash and the end of the line.
      std::size_t next = i + 1;
      while (next < source.size() && is_blank(source[next])) ++next;
      if (next < source.size() && source[next] == '\n') {
        i = next;
        starts_.push_back({text_.size(), ++line});
        continue;
      }
    }
    text_ += c;
    if (c == '\n') starts_.push_back({text_.size(), ++line});
  }
}

std::vector<Token> CppText::tokens(std::uint32_t file) const {
  std::vector<Token> found;
  Lexer lexer(text_);
  std::size_t line_index = 0;
  bool is_first = true;
  while (lexer.pass_blanks()) {
    const std::size_t first = lexer.at();
    is_first = is_first || lexer.saw_line_end();
    while (line_index + 1 < starts_.size() && starts_[line_index + 1].at <= first) ++line_index;
    const TokenKind kind = lexer.pass_token();
    found.push_back({.kind = kind,
                     .text = std::string_view(text_).substr(first, lexer.at() - first),
                     .line = starts_[line_index].line,
                     .file = file,
                     .is_first = is_first,
                     .has_space_before = lexer.saw_space()});
    is_first = false;
  }
  return found;
}

}  // namespace kq::guard
