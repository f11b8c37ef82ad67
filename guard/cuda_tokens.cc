#include "guard/cuda_tokens.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace kq::guard {
namespace {

constexpr std::size_t kArgumentTokensMax = 48;
constexpr std::size_t kArgumentBytesMax = 200;
constexpr std::size_t kLaunchTokensMax = 400;
constexpr std::size_t kNameBytesMaxHere = 400;
constexpr std::size_t kInitialisersMax = 4;  // how many initialisers of one variable are kept

constexpr std::string_view kStreamTypes[] = {"cudaStream_t", "CUstream", "CUstream_st", "hipStream_t"};
constexpr std::string_view kLookUps[] = {"dlsym",
                                         "dlvsym",
                                         "cuGetProcAddress",
                                         "cuGetProcAddress_v2",
                                         "cudaGetDriverEntryPoint",
                                         "cudaGetDriverEntryPointByVersion",
                                         "GetProcAddress"};

constexpr std::string_view kStdThreads[] = {"thread", "jthread", "async"};
// Words before a name that is used; any other name before it is the type in its declaration, as in `int thread`.
constexpr std::string_view kBeforeUses[] = {
    "return",   "new",     "else",   "do",      "throw",        "static", "const",     "constexpr", "inline",
    "volatile", "extern",  "friend", "mutable", "thread_local", "case",   "co_return", "co_yield",  "co_await",
    "register", "typedef", "not",    "and",     "or",           "delete", "using",     "goto"};
constexpr std::string_view kClassKeys[] = {"struct", "class", "union", "enum"};

template <std::size_t n>
bool is_one_of(std::string_view text, const std::string_view (&known)[n]) {
  return std::find(std::begin(known), std::end(known), text) != std::end(known);
}

bool is_identifier(std::string_view text) {
  return text.size() > 2 && (text[0] < '0' || text[0] > '9') && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

bool opens(const Token& token) {
  return token.text == "(" || token.text == "{" || token.text == "[";
}
bool closes(const Token& token) {
  return token.text == ")" || token.text == "}" || token.text == "]";
}

// What a token means among the arguments of a launch.
enum class Mark : std::uint8_t { none, opens, closes, comma, less, end };

Mark mark_of(const Token& token) {
  if (opens(token)) return Mark::opens;
  if (closes(token)) return Mark::closes;
  if (token.text == ",") return Mark::comma;
  if (token.text == "<") return Mark::less;
  return token.text == ">>>" ? Mark::end : Mark::none;
}

// Returns whether a number is a stream handle other than the default stream, which is 0 or 1.
bool is_foreign_number(std::string_view text) {
  const std::string_view digits = text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text;
  const std::size_t first = digits.find_first_not_of('0');
  return first != std::string_view::npos &&
         !(digits[first] == '1' && (first + 1 == digits.size() || digits.find_first_of("uUlL", first) == first + 1));
}

// Reads the tokens of one source once, from first to last, and adds facts.
class Reader {
 public:
  Reader(const Preprocessor& preprocessor, CudaFacts& found)
      : preprocessor_(preprocessor), tokens_(preprocessor.tokens()), found_(found) {}

  void read() {
    for (const Directive& each : preprocessor_.directives()) read_directive(each);
    note_names();
    note_variables();
    looks_up_ =
        std::any_of(tokens_.begin(), tokens_.end(), [](const Token& token) { return is_one_of(token.text, kLookUps); });
    for (std::size_t i = 0; i < tokens_.size();) i = read_at(i);
    const std::uint32_t last = tokens_.empty() ? 1 : tokens_.back().line;
    if (preprocessor_.is_cut_off()) add(1, last, FactKind::note, "source.macros", "");
    if (preprocessor_.is_partly_read()) add(1, last, FactKind::note, "source.parts", "");
  }

 private:
  const Token& at(std::size_t i) const { return tokens_[i]; }
  bool is(std::size_t i, std::string_view text) const { return i < tokens_.size() && tokens_[i].text == text; }
  bool is_name(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == TokenKind::name; }

  std::string_view keep(std::string text) { return found_.texts.emplace_back(std::move(text)); }

  void add(std::uint32_t file, std::uint32_t line, FactKind kind, std::string_view name, std::string argument) {
    name = name.substr(0, kNameBytesMaxHere);
    if (argument.size() > kArgumentBytesMax) argument.resize(kArgumentBytesMax);
    // A name that is repeated on one line is one fact.
    Last& last = last_[std::string(name) + '\n' + argument];
    if (last.line == line && last.file == file && last.kind == kind) return;
    last = {.line = line, .file = file, .kind = kind};
    found_.facts.push_back({.file = file_text(file),
                            .line = line,
                            .kind = kind,
                            .name = keep(std::string(name)),
                            .argument = keep(std::move(argument))});
  }

  std::string_view file_text(std::uint32_t file) {
    auto [entry, is_new] = files_.try_emplace(file);
    if (is_new) entry->second = keep(std::string(preprocessor_.file(file)));
    return entry->second;
  }

  void read_directive(const Directive& each) {
    if (each.word == "line") {
      add(each.file, each.line, FactKind::note, "source.line", each.argument);
    } else {
      add(each.file, each.line, FactKind::option, each.word == "define" ? "#define" : "#pragma", each.argument);
    }
  }

  // Reads one token, or a name with its qualifiers. Returns the index of the next token.
  std::size_t read_at(std::size_t i) {
    const Token& token = at(i);
    if (token.kind == TokenKind::text) return read_text(i);
    if (token.text == "<<<") {
      read_launch(i);
      return i + 1;
    }
    if (token.kind != TokenKind::name) return i + 1;
    std::string name(token.text.substr(0, kNameBytesMaxHere));
    std::size_t next = i + 1;
    while (is(next, "::") && is_name(next + 1) && name.size() < kNameBytesMaxHere) {
      name += "::" + std::string(at(next + 1).text.substr(0, kNameBytesMaxHere));
      next += 2;
    }
    if (is_one_of(token.text, kStreamTypes) || stream_types_.contains(token.text)) read_cast(i);
    name = resolved(std::move(name), i, next);
    const auto argument = argument_behind(next);
    add(token.file, token.line, argument ? FactKind::call : FactKind::value, name, argument.value_or(""));
    return next;
  }

  // Returns whether the source declares the name itself, so that it means nothing of std there.
  bool is_declared_here(std::size_t i) const {
    if (i == 0 || !is_name(i - 1) || is_one_of(at(i - 1).text, kBeforeUses)) return false;
    return !is_one_of(at(i - 1).text, kClassKeys) || is(i + 1, "{") || is(i + 1, ":");
  }

  // Returns the full name of a thread type: with `namespace s = std;` s::thread is std::thread, and with
  // `using namespace std;` so is thread where it is a type. Any other name is returned as it is.
  std::string resolved(std::string name, std::size_t first, std::size_t next) const {
    const auto alias = namespaces_.find(at(first).text);
    if (alias != namespaces_.end() && name.size() > at(first).text.size())
      return alias->second + name.substr(at(first).text.size());
    if (!uses_std_ || !is_one_of(name, kStdThreads) || own_names_.contains(name)) return name;
    const bool is_behind_a_name = first > 0 && (is_name(first - 1) || is(first - 1, ".") || is(first - 1, "->") ||
                                                is(first - 1, "*") || is(first - 1, "&") || is(first - 1, ">"));
    const bool is_type = is_name(next) || is(next, "(") || is(next, "{") || (first > 0 && is(first - 1, "<"));
    const bool returns = first > 0 && is(first - 1, "return");
    return is_type && (!is_behind_a_name || returns) ? "std::" + name : name;
  }

  // Joins adjacent string literals. Their text is a fact only in a source that looks up functions by name.
  std::size_t read_text(std::size_t i) {
    const Token& first = at(i);
    std::string text;
    std::size_t next = i;
    for (; next < tokens_.size() && at(next).kind == TokenKind::text; ++next) {
      if (text.size() < kArgumentBytesMax) text += content_of(at(next).text).substr(0, kNameBytesMaxHere);
    }
    if (looks_up_ && is_identifier(text)) add(first.file, first.line, FactKind::text, text, "");
    return next;
  }

  // Returns the text `...` of `f(...)`, `F{...}`, `F<...>(...)`, `Type name(...)`, `Type name{...}` or
  // `Type name = ...;`, where `i` is the index behind the name. Returns nothing for other code.
  std::optional<std::string> argument_behind(std::size_t i) {
    if (is(i, "<")) {
      const std::size_t limit = std::min(i + kArgumentTokensMax, tokens_.size());
      int depth = 0;
      std::size_t end = i;
      for (; end < limit; ++end) {
        if (is(end, "<")) ++depth;
        if (is(end, ">")) --depth;
        if (is(end, ">>")) depth -= 2;
        if (depth <= 0) break;
        if (is(end, ";") || is(end, "{")) return std::nullopt;
      }
      if (end >= limit) return std::nullopt;
      i = end + 1;
    }
    if (is_name(i) && (is(i + 1, "(") || is(i + 1, "{") || is(i + 1, "="))) ++i;
    if (is(i, "=")) return followed(text_until_end(i + 1), i + 1);
    if (!is(i, "(") && !is(i, "{")) return std::nullopt;
    return followed(text_between(i), i + 1);
  }

  // Adjacent tokens as one text. Its bytes are limited, because macros make very many tokens of any length from a short
  // source; an argument is cut to the same length.
  struct Joined {
    std::string text{};
    std::size_t count = 0;  // of the tokens

    void add(const Token& token) {
      text += token.text.substr(0, kArgumentBytesMax - text.size());
      ++count;
    }
    bool is_full() const { return text.size() == kArgumentBytesMax && count > 1; }
  };

  Joined text_between(std::size_t open) const {
    Joined joined;
    int depth = 0;
    for (std::size_t i = open; i < std::min(open + kArgumentTokensMax, tokens_.size()); ++i) {
      if (opens(at(i)) && depth++ == 0) continue;
      if ((closes(at(i)) && --depth == 0) || joined.is_full()) break;
      joined.add(at(i));
    }
    return joined;
  }

  Joined text_until_end(std::size_t first) const {
    Joined joined;
    int depth = 0;
    for (std::size_t i = first; i < std::min(first + kArgumentTokensMax, tokens_.size()); ++i) {
      if (opens(at(i))) ++depth;
      if (closes(at(i)) && --depth < 0) break;
      if ((depth == 0 && (is(i, ";") || is(i, ","))) || joined.is_full()) break;
      joined.add(at(i));
    }
    return joined;
  }

  // If the text is the name of a variable, returns the text that initialised the variable, otherwise the text itself.
  std::string followed(const Joined& joined, std::size_t first) const {
    const auto found = joined.count == 1 && is_name(first) ? variables_.find(at(first).text) : variables_.end();
    return found == variables_.end() ? joined.text : found->second.text;
  }

  void note_names() {
    for (std::size_t i = 0; i + 3 < tokens_.size(); ++i) {
      if (is_one_of(at(i).text, kStdThreads) && is_declared_here(i)) own_names_.insert(at(i).text);
      if (is(i, "using") && is_name(i + 1) && is(i + 2, "=") && is_one_of(at(i + 3).text, kStreamTypes))
        stream_types_.insert(at(i + 1).text);
      if (is(i, "typedef") && is_one_of(at(i + 1).text, kStreamTypes) && is_name(i + 2))
        stream_types_.insert(at(i + 2).text);
      if (is(i, "using") && is(i + 1, "namespace") && (is(i + 2, "std") || (is(i + 2, "::") && is(i + 3, "std"))))
        uses_std_ = true;
      if (!is(i, "namespace") || !is_name(i + 1) || !is(i + 2, "=")) continue;
      std::string& meant = namespaces_[at(i + 1).text];
      meant.clear();
      for (std::size_t k = i + 3; k < tokens_.size() && !is(k, ";") && meant.size() < kNameBytesMaxHere; ++k) {
        if (!meant.empty() || !is(k, "::")) meant += at(k).text.substr(0, kNameBytesMaxHere);
      }
    }
  }

  void note_variables() {
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      const bool is_made =
          is_name(i) && (is(i + 1, "=") || (i > 0 && is_name(i - 1) && (is(i + 1, "(") || is(i + 1, "{"))));
      if (!is_made) continue;
      Variable& variable = variables_[at(i).text];
      if (variable.count++ >= kInitialisersMax) continue;
      if (!variable.text.empty()) variable.text += ' ';
      variable.text += (is(i + 1, "=") ? text_until_end(i + 2) : text_between(i + 1)).text;
    }
  }

  // (cudaStream_t)2, static_cast<cudaStream_t>(2), cudaStream_t s = (CUstream)0x2, CUstream{2}
  void read_cast(std::size_t i) {
    const Token& type = at(i);
    if (i >= 2 && is(i - 1, "(") && is(i - 2, "sizeof")) return;
    for (std::size_t k = i + 1; k < std::min(i + 20, tokens_.size()); ++k) {
      if (at(k).kind == TokenKind::number) {
        // The number in `cudaStream_t streams[2]` is a size, not a handle.
        if (!is(k - 1, "[") && is_foreign_number(at(k).text))
          add(type.file, type.line, FactKind::call, "stream_number", std::string(at(k).text));
        return;
      }
      // (cudaStream_t)(std::uintptr_t)2, reinterpret_cast<cudaStream_t>(static_cast<size_t>(2))
      const bool is_cast_to = is_name(k) && (is(k - 1, "(") || is(k - 1, "<") || is(k - 1, "::")) &&
                              (is(k + 1, ")") || is(k + 1, ">") || is(k + 1, "*") || is(k + 1, "::"));
      const bool may_lead_on = is_cast_to || is(k, "::") || is(k, "*") || is(k, ")") || is(k, ">") || is(k, "(") ||
                               is(k, "{") || is(k, "=") || is(k, "static_cast") || is(k, "reinterpret_cast") ||
                               is(k, "<") || is_one_of(at(k).text, kStreamTypes) || (is_name(k) && is_name(k - 1)) ||
                               (is_name(k) && k == i + 1) || (is_name(k) && is(k - 1, "*"));
      if (!may_lead_on) return;
    }
  }

  // kernel<<<grid, block, shared, STREAM>>>
  void read_launch(std::size_t open) {
    prepare_launches();
    int depth = 0, commas = 0;
    std::size_t from = 0;
    const std::size_t limit = std::min(open + kLaunchTokensMax, tokens_.size());
    for (std::size_t i = open + 1; i < limit; ++i) {
      if (marks_[i] == Mark::less) i = behind_template_once(i);
      const Mark mark = marks_[i];
      if (mark == Mark::opens) ++depth;
      if (mark == Mark::closes) --depth;
      if (depth != 0 || (mark != Mark::comma && mark != Mark::end)) continue;
      if (commas == 3) return judge_launch(from, i);
      if (mark == Mark::end) return;
      if (++commas == 3) from = i + 1;
    }
  }
  // Makes what read_launch() knows of each token. Launches that never end read the same tokens very many times.
  void prepare_launches() {
    if (!marks_.empty()) return;
    marks_.reserve(tokens_.size());
    for (const Token& token : tokens_) marks_.push_back(mark_of(token));
    behind_templates_.resize(tokens_.size());
  }

  // For the `<` of `Traits<float, 4>::grid(n)`, returns the index of `::`. For the `<` of a comparison, returns `i`.
  std::size_t behind_template(std::size_t i) const {
    if (!is(i, "<") || !is_name(i - 1)) return i;
    int depth = 0;
    for (std::size_t k = i; k < std::min(i + kArgumentTokensMax, tokens_.size()); ++k) {
      if (is(k, ";") || is(k, ">>>")) return i;
      if (is(k, "<")) ++depth;
      if (is(k, ">")) --depth;
      if (is(k, ">>")) depth -= 2;
      if (depth <= 0) return is(k + 1, "::") || is(k + 1, "(") || is(k + 1, "{") ? k + 1 : i;
    }
    return i;
  }

  // Returns behind_template(i), and keeps it.
  std::size_t behind_template_once(std::size_t i) {
    std::size_t& behind = behind_templates_[i];
    if (behind == 0) behind = behind_template(i);
    return behind;
  }

  void judge_launch(std::size_t from, std::size_t end) {
    if (end <= from || end - from > 16) return;
    std::string_view number;
    bool is_plain = true;  // only numbers, and names of macros that may be numbers
    for (std::size_t i = from; i < end; ++i) {
      if (at(i).kind == TokenKind::number) number = at(i).text;
      is_plain = is_plain && (at(i).kind == TokenKind::number || is_name(i));
    }
    is_plain = is_plain && !number.empty();
    if (is_plain && is_foreign_number(number))
      add(at(from).file, at(from).line, FactKind::call, "stream_number", std::string(number));
  }

  struct Last {
    std::uint32_t line = 0;
    std::uint32_t file = 0;
    FactKind kind{};
  };
  struct Variable {
    std::string text{};
    std::size_t count = 0;
  };

  const Preprocessor& preprocessor_;
  const std::vector<Token>& tokens_;
  CudaFacts& found_;
  std::map<std::uint32_t, std::string_view> files_;
  std::unordered_map<std::string, Last> last_;
  std::map<std::string_view, Variable> variables_;
  std::set<std::string_view> stream_types_;             // aliases of stream types
  std::map<std::string_view, std::string> namespaces_;  // alias -> namespace
  std::set<std::string_view, std::less<>> own_names_;   // of kStdThreads that the source declares
  std::vector<Mark> marks_;                             // by index of the token
  std::vector<std::size_t> behind_templates_;           // by index of a `<`; 0 where it is not known yet
  bool uses_std_ = false;
  bool looks_up_ = false;
};

CudaFacts read(const Preprocessor& preprocessor) {
  CudaFacts found;
  Reader(preprocessor, found).read();
  found.work = preprocessor.work();
  return found;
}

}  // namespace

CudaFacts cuda_facts(const CppSource& source, std::span<const CppSource> others) {
  return read(Preprocessor(source, others));
}

CudaFacts preprocessed_facts(const CppSource& source, std::span<const CppSource> others) {
  return read(Preprocessor(source, others, true));
}

}  // namespace kq::guard
