// A C++ preprocessor that needs no library headers: it expands macros, so that names which macros join are found.
//
// Headers among the given sources are included, library headers are not. The output is only searched for names, never
// compiled, so the preprocessor keeps every possibility: it reads every branch of a conditional whose condition is not
// a plain number; if branches define a macro differently, it inserts every definition; and if possibly no definition is
// compiled, it also keeps the name itself.
//
//   #ifdef X / #define M one / #else / #define M two / #endif / M     becomes     one two M
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "guard/cpp_lexer.h"

namespace kq::guard {

struct CppSource {
  std::string_view name;
  std::string_view text;
};

// Limits of the work on one source. Beyond them macros are no longer expanded, and is_cut_off() returns true. Honest
// sources stay far below.
inline constexpr std::size_t kTokensMax = 600'000;
inline constexpr std::size_t kExpansionsMax = 200'000;
inline constexpr std::size_t kWorkMax = 8'000'000;  // tokens that macros insert, or that are read as their arguments
inline constexpr std::size_t kMadeBytesMax = 16u << 20;  // bytes of the names and texts that macros make
inline constexpr std::size_t kReadBytesMax = 8u << 20;   // bytes of the source and of its includes, counted each time
// Limits that an honest source may exceed. Then is_partly_read() returns true.
inline constexpr std::size_t kIncludesMax = 64;
inline constexpr std::size_t kIncludeDepthMax = 16;
inline constexpr std::size_t kAlternativesMax = 16;  // definitions of one macro, in branches of conditionals

// A directive that may be a fact of its own: define, pragma or line.
struct Directive {
  std::string_view word;
  std::string argument;
  std::uint32_t line = 0;
  std::uint32_t file = 0;
};

// Preprocesses one source in the constructor, and holds the resulting tokens.
class Preprocessor {
 public:
  // `others` are the sources that may be included. With `is_preprocessed` the text is the output of a preprocessor: its
  // line marks say from which file a line comes, and lines of files that are not among the sources are dropped. If
  // `others` is empty, files without a folder in their mark count as sources.
  Preprocessor(const CppSource& source, std::span<const CppSource> others, bool is_preprocessed = false);
  Preprocessor(const Preprocessor&) = delete;

  const std::vector<Token>& tokens() const { return out_; }
  const std::vector<Directive>& directives() const { return directives_; }
  std::string_view file(std::uint32_t index) const { return files_[index]; }
  std::size_t work() const { return work_ + expansions_; }
  bool is_cut_off() const { return is_cut_off_; }
  bool is_partly_read() const { return is_partly_read_; }

 private:
  struct Macro {
    bool is_function = false;
    bool is_variadic = false;
    bool is_certain = true;  // it is certainly defined, with this body
    std::vector<std::string_view> parameters{};
    std::map<std::string_view, std::size_t> places{};  // parameter -> its index
    std::vector<Token> body{};
  };
  enum class Truth { no, yes, unknown };
  struct Branch {
    bool is_dead = false;     // this branch is certainly not compiled
    bool is_unknown = false;  // it may or may not be compiled
    bool was_taken = false;   // an earlier branch of the conditional is certainly compiled
    bool is_inside_dead = false;
  };
  using Line = std::span<const Token>;
  using Tokens = std::vector<Token>;

  void read(const CppSource& source, std::size_t depth);
  void read_preprocessed(const CppSource& source);
  void directive(Line line, std::size_t depth);
  void define(Line line);
  void undefine(Line line);
  void include(Line line, std::size_t depth);
  void conditional(std::string_view word, Line rest);
  Truth truth_of(Line condition);
  bool is_dead() const { return !branches_.empty() && branches_.back().is_dead; }
  bool is_certain() const { return unknown_branches_ == 0 && open_.empty(); }
  void enter(const Branch& branch);
  void leave_branch();
  void note(std::string_view word, Line rest);

  void join_call(Line text, const Tokens& qualifier);
  void expand(Line in, Tokens& out, std::size_t depth);
  void end_macro();
  static Tokens qualifier_at_end(const Tokens& out);
  static Tokens as_written(const Token& name, const std::vector<Tokens>& arguments);
  bool take_arguments(Tokens& work, std::vector<Tokens>& arguments);
  Tokens substitute(const Macro& macro, const std::vector<Tokens>& arguments, const Token& at, std::size_t depth);
  Token pasted(const Token& left, const Token& right);
  std::string_view keep(std::string text);

  std::span<const CppSource> others_;
  std::vector<std::string> files_;
  std::deque<CppText> texts_;
  std::deque<std::string> kept_;
  struct Name {
    std::vector<Macro> definitions{};
    bool is_active = false;  // its replacement is being expanded
  };
  std::map<std::string_view, Name> macros_;
  std::vector<Name*> active_;
  std::vector<Branch> branches_;
  std::size_t unknown_branches_ = 0;  // how many of branches_ are unknown
  Tokens open_;                       // the beginning of a macro call that a directive interrupts
  std::size_t open_parentheses_ = 0;
  std::vector<Token> out_;
  std::vector<Directive> directives_;
  std::size_t expansions_ = 0;
  std::size_t work_ = 0;
  std::size_t read_bytes_ = 0;
  std::size_t made_bytes_ = 0;
  std::size_t includes_ = 0;
  bool is_cut_off_ = false;
  bool is_partly_read_ = false;
};

}  // namespace kq::guard
