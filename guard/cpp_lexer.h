// Splits C++ text into preprocessing tokens ([lex.pptoken]), each with the line on which it begins.
//
// Comments are dropped. As in a compiler, lines that end in a backslash are joined first, because an identifier may
// continue on the next line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kq::guard {

enum class TokenKind : std::uint8_t {
  name,  // an identifier; '$' is a letter, as for compilers, and marks a part of a text that is not known
  number,
  text,  // a string literal, with its prefix and quotes
  character,
  punctuation,
  end_of_macro  // marks the end of a macro's replacement; only the preprocessor makes it
};

struct Token {
  TokenKind kind = TokenKind::punctuation;
  std::string_view text{};
  std::uint32_t line = 0;
  std::uint32_t file = 0;  // index of the file in the preprocessor
  bool is_first = false;   // the first token of its line
  bool has_space_before = false;
};

// Returns the content of a string literal, without prefix, quotes and delimiter; escapes stay as they are. Any other
// text is returned whole.
std::string_view content_of(std::string_view literal);

// A source text with joined lines, and the offsets at which the original lines begin. Tokens are views into it.
class CppText {
 public:
  explicit CppText(std::string_view source);
  CppText(const CppText&) = delete;

  std::vector<Token> tokens(std::uint32_t file) const;

 private:
  struct LineStart {
    std::size_t at;
    std::uint32_t line;
  };
  std::string text_;
  std::vector<LineStart> starts_;
};

}  // namespace kq::guard
