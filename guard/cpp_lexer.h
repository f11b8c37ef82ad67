// C++ text as preprocessing tokens ([lex.pptoken]), with the line each one begins on.
//
// Comments are gone, lines that end in a backslash are joined first, as a compiler does: an identifier may be cut in
// two by that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kq::guard {

enum class TokenKind : std::uint8_t {
  name,  // an identifier; '$' counts, as it does for compilers here, and as what stands for a hole in a text
  number,
  text,  // a string literal, whole
  character,
  punctuation,
  end_of_macro  // of the preprocessor's own: what was put in for a macro ends here
};

struct Token {
  TokenKind kind = TokenKind::punctuation;
  std::string_view text{};
  std::uint32_t line = 0;
  std::uint32_t file = 0;  // index; the preprocessor's
  bool is_first = false;   // on its line
  bool has_space_before = false;
};

// What a string literal holds, without prefix, quotes and mark; escapes stay as they are. Of what is no string literal,
// all of it.
std::string_view content_of(std::string_view literal);

// Text with joined lines, and where the lines of the original begin in it. Tokens are views into it.
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
