// What a C++ compiler's preprocessor makes of a source, as far as that goes without headers: names that macros join are
// joined.
//
// No header of a library is read; those among the given sources are. Every branch of a conditional counts unless its
// condition is a plain number, and where branches define a macro differently each definition counts, and the name
// itself where none of them may be compiled: what comes out is read for names, not compiled.
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

// Bounds of what a source may grow to; beyond them macros stay as they are, and `is_cut_off` says so. Nobody writes
// what goes over them.
inline constexpr std::size_t kTokensMax = 600'000;
inline constexpr std::size_t kExpansionsMax = 200'000;
inline constexpr std::size_t kWorkMax =
    8'000'000;  // tokens that are passed on by macros or looked at as their arguments
inline constexpr std::size_t kMadeBytesMax = 16u << 20;  // of names and texts that macros make
inline constexpr std::size_t kReadBytesMax = 8u << 20;   // of the source and of what it includes, each time it does
// Bounds that a source may go over for good reasons; `is_partly_read` says so.
inline constexpr std::size_t kIncludesMax = 64;
inline constexpr std::size_t kIncludeDepthMax = 16;
inline constexpr std::size_t kAlternativesMax = 16;  // definitions of one macro, in branches of conditionals

struct Directive {  // that says something by itself: define, pragma, line
  std::string_view word;
  std::string argument;
  std::uint32_t line = 0;
  std::uint32_t file = 0;
};

class Preprocessor {
 public:
  // `others`: what the first source, or one that it includes, may include. `is_done`: the text is a preprocessor's
  // output, whose line marks say which file a line is of; what is of none of the sources is left out. Where no others
  // are given, marks without a folder are of the submission.
  Preprocessor(const CppSource& source, std::span<const CppSource> others, bool is_done = false);
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
    bool is_certain = true;  // it is defined, and so
    std::vector<std::string_view> parameters{};
    std::map<std::string_view, std::size_t> places{};  // of the parameters
    std::vector<Token> body{};
  };
  enum class Truth { no, yes, unknown };
  struct Branch {
    bool is_dead = false;     // this one
    bool is_unknown = false;  // whether it is taken
    bool was_taken = false;   // one before it, for sure
    bool is_inside_dead = false;
  };
  using Line = std::span<const Token>;
  using Tokens = std::vector<Token>;

  void define_known();
  void read(const CppSource& source, std::size_t depth);
  void read_done(const CppSource& source);
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
    bool is_active = false;  // its replacement is being read
  };
  std::map<std::string_view, Name> macros_;
  std::vector<Name*> active_;
  std::vector<Branch> branches_;
  std::size_t unknown_branches_ = 0;  // of those
  Tokens open_;  // a name and what stands in its parentheses so far, where a directive came between
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
