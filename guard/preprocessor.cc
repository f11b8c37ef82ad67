#include "guard/preprocessor.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace kq::guard {
namespace {

constexpr std::size_t kArgumentDepthMax = 48;     // nesting of macros in arguments of macros
constexpr std::size_t kDirectivesMax = 4096;      // directives that are kept for the rules
constexpr std::size_t kPastedBytesMax = 4096;     // bytes of a token that ## makes
constexpr std::int64_t kMarkedLineMax = 1 << 30;  // leaves room for the line numbers that follow the mark

// Macros of common library headers that join names or pass names on. The constructor defines these macros before it
// reads the source, because library headers are not read.
constexpr std::string_view kKnownMacros =
    "#define C10_CONCATENATE(a, b) a##b\n"
    "#define C10_CONCATENATE_IMPL(a, b) a##b\n"
    "#define C10_EXPAND_MSVC_WORKAROUND(x) x\n"
    "#define __CONCAT(a, b) a##b\n"
    "#define BOOST_PP_CAT(a, b) a##b\n"
    "#define PYBIND11_CONCAT(a, b) a##b\n"
    "#define _CCCL_PP_CAT(a, b) a##b\n"
    "#define CUB_PP_CAT(a, b) a##b\n";

bool is_word(const Token& token, std::string_view text) {
  return token.text == text;
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<std::int64_t> number_of(std::string_view text) {
  while (!text.empty() && (text.back() == 'u' || text.back() == 'U' || text.back() == 'l' || text.back() == 'L'))
    text.remove_suffix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns the text of the tokens, cut to `bytes_max`.
std::string spelled(std::span<const Token> tokens, std::size_t bytes_max) {
  std::string text;
  for (const Token& token : tokens) {
    if (token.kind == TokenKind::end_of_macro) continue;
    if (token.has_space_before && !text.empty()) text += ' ';
    if (text.size() >= bytes_max) break;
    text += token.text.substr(0, bytes_max - text.size());
  }
  text.resize(std::min(text.size(), bytes_max));
  return text;
}

}  // namespace

Preprocessor::Preprocessor(const CppSource& source, std::span<const CppSource> others, bool is_preprocessed)
    : others_(others) {
  files_.emplace_back();  // index 0 stands for files outside the submission
  if (is_preprocessed) {
    read_preprocessed(source);
  } else {
    read({.name = "", .text = kKnownMacros}, 0);
    directives_.clear();
    out_.clear();
    read(source, 0);
  }
}

void Preprocessor::read(const CppSource& source, std::size_t depth) {
  if (source.text.size() > kReadBytesMax - read_bytes_) {
    is_cut_off_ = true;
    return;
  }
  read_bytes_ += source.text.size();
  const auto known = std::find(files_.begin(), files_.end(), source.name);
  const auto index = static_cast<std::uint32_t>(known - files_.begin());
  if (known == files_.end()) files_.emplace_back(source.name);
  const Tokens tokens = texts_.emplace_back(source.text).tokens(index);
  const std::size_t branches_before = branches_.size();
  std::size_t text_from = 0;
  const auto flush = [&](std::size_t end) {
    if (is_dead() || end <= text_from) return;
    const Line text = Line(tokens).subspan(text_from, end - text_from);
    const Tokens qualifier = qualifier_at_end(out_);
    expand(text, out_, 0);
    join_call(text, qualifier);
  };
  for (std::size_t i = 0; i < tokens.size();) {
    const bool is_directive = tokens[i].is_first && (is_word(tokens[i], "#") || is_word(tokens[i], "%:"));
    if (!is_directive) {
      ++i;
      continue;
    }
    flush(i);
    std::size_t end = i + 1;
    while (end < tokens.size() && !tokens[end].is_first) ++end;
    directive(Line(tokens).subspan(i + 1, end - i - 1), depth);
    text_from = i = end;
  }
  flush(tokens.size());
  while (branches_.size() > branches_before) leave_branch();
}

// Compilers accept directives among the arguments of a macro. read() has expanded the parts of such a call separately.
// join_call() collects the parts in open_, and after the end of the call expands the whole call once more, with the
// macros that are defined at that point. `qualifier` is the namespace qualifier before `text`, if the output ended in
// one.
void Preprocessor::join_call(Line text, const Tokens& qualifier) {
  std::size_t from = 0;  // where the open call begins in `text`, with its qualifier
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_word(text[i], "(") && open_parentheses_++ == 0) {
      from = i == 0 ? 0 : i - 1;
      while (from >= 2 && is_word(text[from - 1], "::") && text[from - 2].kind == TokenKind::name) from -= 2;
    }
    if (!is_word(text[i], ")") || open_parentheses_ == 0 || --open_parentheses_ != 0 || open_.empty()) continue;
    open_.insert(open_.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    expand(std::exchange(open_, {}), out_, 0);
  }
  if (open_parentheses_ == 0) return;
  if (open_.empty() && from == 0) open_ = qualifier;
  open_.insert(open_.end(), text.begin() + static_cast<std::ptrdiff_t>(from), text.end());
}

// Reads the output of a preprocessor. A line mark, # 12 "file.cu" 1 3, says from which file and line the next line
// comes. The only other directives in such an output are pragmas, which are skipped.
void Preprocessor::read_preprocessed(const CppSource& source) {
  files_.emplace_back(source.name);
  for (const CppSource& other : others_) files_.emplace_back(other.name);
  const Tokens tokens = texts_.emplace_back(source.text).tokens(1);
  std::uint32_t file = 1, line = 1, mark_line = 0;
  for (std::size_t i = 0; i < tokens.size();) {
    std::size_t end = i + 1;
    while (end < tokens.size() && !tokens[end].is_first) ++end;
    const bool is_mark = is_word(tokens[i], "#") && end - i >= 3 && tokens[i + 1].kind == TokenKind::number &&
                         tokens[i + 2].kind == TokenKind::text;
    if (is_mark) {
      const std::string_view path = content_of(tokens[i + 2].text);
      auto known = std::find(files_.begin() + 1, files_.end(), file_name(path));
      const bool is_plain = !path.empty() && path.front() != '<' && path.find('/') == std::string_view::npos;
      if (known == files_.end() && others_.empty() && is_plain && files_.size() < kIncludesMax)
        known = files_.insert(files_.end(), std::string(path));
      file = known == files_.end() ? 0 : static_cast<std::uint32_t>(known - files_.begin());
      line = static_cast<std::uint32_t>(
          std::clamp<std::int64_t>(number_of(tokens[i + 1].text).value_or(1), 1, kMarkedLineMax));
      mark_line = tokens[i].line + 1;
    } else if (file != 0 && !is_word(tokens[i], "#")) {
      for (std::size_t k = i; k < end; ++k) {
        if (out_.size() == kTokensMax) {
          is_cut_off_ = true;
          return;
        }
        out_.push_back(tokens[k]);
        out_.back().file = file;
        out_.back().line = mark_line == 0 ? tokens[k].line : line + (tokens[k].line - mark_line);
      }
    }
    i = end;
  }
}

void Preprocessor::directive(Line line, std::size_t depth) {
  if (line.empty()) return;
  const std::string_view word = line.front().text;
  const Line rest = line.subspan(1);
  if (word.starts_with("if") || word.starts_with("el") || word == "endif") return conditional(word, rest);
  if (is_dead()) return;
  if (word == "define") {
    define(rest);
  } else if (word == "undef") {
    undefine(rest);
  } else if (word.starts_with("include") || word == "import") {
    include(rest, depth);
  } else if (word == "pragma") {
    note(word, rest);
    // After a push or pop the current definition depends on where the macro was pushed, so no definition is certain.
    if (rest.size() >= 3 && (is_word(rest[0], "push_macro") || is_word(rest[0], "pop_macro"))) {
      const auto found = macros_.find(content_of(rest[2].text));
      if (found == macros_.end()) return;
      for (Macro& macro : found->second.definitions) macro.is_certain = false;
    }
  } else if (word == "line" || line.front().kind == TokenKind::number) {
    note("line", rest);
  }
}

void Preprocessor::note(std::string_view word, Line rest) {
  if (rest.empty() || directives_.size() == kDirectivesMax) return;
  directives_.push_back(
      {.word = word, .argument = spelled(rest, 200), .line = rest.front().line, .file = rest.front().file});
}

void Preprocessor::undefine(Line line) {
  const auto found = line.empty() ? macros_.end() : macros_.find(line.front().text);
  if (found == macros_.end()) return;
  if (is_certain()) {
    macros_.erase(found);
  } else {
    for (Macro& macro : found->second.definitions) macro.is_certain = false;
  }
}

void Preprocessor::enter(const Branch& branch) {
  if (branch.is_unknown) ++unknown_branches_;
  branches_.push_back(branch);
}

void Preprocessor::leave_branch() {
  if (branches_.back().is_unknown) --unknown_branches_;
  branches_.pop_back();
}

void Preprocessor::define(Line line) {
  if (line.empty() || line.front().kind != TokenKind::name) return;
  note("define", line.subspan(0, 1));
  const std::string_view name = line.front().text;
  line = line.subspan(1);
  Macro macro;
  if (!line.empty() && is_word(line.front(), "(") && !line.front().has_space_before) {
    macro.is_function = true;
    std::size_t i = 1;
    for (; i < line.size() && !is_word(line[i], ")"); ++i) {
      if (line[i].kind == TokenKind::name) macro.parameters.push_back(line[i].text);
      if (is_word(line[i], "...")) {
        macro.is_variadic = true;
        // `args...` gives the variable arguments a name; without a name they are __VA_ARGS__.
        if (i == 1 || line[i - 1].kind != TokenKind::name) macro.parameters.push_back("__VA_ARGS__");
      }
    }
    for (std::size_t place = 0; place < macro.parameters.size(); ++place)
      macro.places.emplace(macro.parameters[place], place);
    line = line.subspan(std::min(i + 1, line.size()));
  }
  macro.body.assign(line.begin(), line.end());
  macro.is_certain = is_certain();
  std::vector<Macro>& known = macros_[name].definitions;
  if (macro.is_certain) known.clear();
  if (known.size() < kAlternativesMax) {
    known.push_back(std::move(macro));
  } else {
    is_partly_read_ = true;
  }
}

void Preprocessor::include(Line line, std::size_t depth) {
  Tokens expanded;
  if (!line.empty() && line.front().kind == TokenKind::name) {
    expand(line, expanded, 0);
    line = expanded;
  }
  if (line.empty()) return;
  std::string name = std::string(content_of(line.front().text));
  if (is_word(line.front(), "<")) {
    name.clear();
    for (std::size_t i = 1; i < line.size() && !is_word(line[i], ">"); ++i) name += line[i].text;
  }
  for (const CppSource& other : others_) {
    if (file_name(other.name) != file_name(name)) continue;
    if (depth == kIncludeDepthMax || includes_ == kIncludesMax) {
      is_partly_read_ = true;
      return;
    }
    ++includes_;
    return read(other, depth + 1);
  }
}

void Preprocessor::conditional(std::string_view word, Line rest) {
  if (word == "endif") {
    if (!branches_.empty()) leave_branch();
    return;
  }
  const bool is_if = word.starts_with("if");
  if (!is_if && branches_.empty()) return;
  Branch branch{.is_inside_dead = is_dead()};
  if (!is_if) branch = {.was_taken = branches_.back().was_taken, .is_inside_dead = branches_.back().is_inside_dead};
  const bool follows_unknown = !is_if && branches_.back().is_unknown;
  Truth truth = Truth::unknown;
  if (word == "else") {
    truth = follows_unknown ? Truth::unknown : Truth::yes;
  } else if (word == "if" || word == "elif") {
    truth = truth_of(rest);
    if (follows_unknown && truth == Truth::yes) truth = Truth::unknown;
  }
  branch.is_dead = branch.is_inside_dead || branch.was_taken || truth == Truth::no;
  branch.is_unknown = truth == Truth::unknown || follows_unknown;
  branch.was_taken = branch.was_taken || truth == Truth::yes;
  if (!is_if) leave_branch();
  enter(branch);
}

// Returns the truth of a condition that is a plain number, or a macro that is certainly a plain number. Any other
// condition is unknown, because it may depend on the compiler.
Preprocessor::Truth Preprocessor::truth_of(Line condition) {
  bool is_negated = false;
  while (!condition.empty() && is_word(condition.front(), "!")) {
    is_negated = !is_negated;
    condition = condition.subspan(1);
  }
  while (condition.size() >= 3 && is_word(condition.front(), "(") && is_word(condition.back(), ")"))
    condition = condition.subspan(1, condition.size() - 2);
  for (int hops = 0; hops < 8 && condition.size() == 1 && condition.front().kind == TokenKind::name; ++hops) {
    const std::string_view word = condition.front().text;
    const auto found = macros_.find(word);
    if (found == macros_.end() && (word == "true" || word == "false"))
      return (word == "true") != is_negated ? Truth::yes : Truth::no;
    if (found == macros_.end() || found->second.definitions.size() != 1) return Truth::unknown;
    const Macro& macro = found->second.definitions.front();
    if (macro.is_function || !macro.is_certain) return Truth::unknown;
    condition = macro.body;
  }
  if (condition.size() != 1 || condition.front().kind != TokenKind::number) return Truth::unknown;
  const auto number = number_of(condition.front().text);
  if (!number) return Truth::unknown;
  return (*number != 0) != is_negated ? Truth::yes : Truth::no;
}

// Appends the expansion of `in` to `out`. `work` is a stack with the next token at its back. The replacement of a macro
// is pushed there, in front of the tokens that follow, so that a macro name which another macro yields takes its
// arguments from behind that macro. The token end_of_macro marks where a macro may be expanded again.
void Preprocessor::expand(Line in, Tokens& out, std::size_t depth) {
  Tokens work(in.rbegin(), in.rend());
  const std::size_t active_before = active_.size();
  while (!work.empty()) {
    const Token token = work.back();
    work.pop_back();
    if (token.kind == TokenKind::end_of_macro) {
      if (active_.size() > active_before) end_macro();
      continue;
    }
    if (out.size() >= kTokensMax || out_.size() >= kTokensMax) {
      is_cut_off_ = true;
      break;
    }
    const auto found = token.kind == TokenKind::name ? macros_.find(token.text) : macros_.end();
    const bool is_macro = found != macros_.end() && !found->second.is_active;
    if (!is_macro || ++expansions_ > kExpansionsMax || work_ > kWorkMax || depth > kArgumentDepthMax) {
      is_cut_off_ = is_cut_off_ || is_macro;
      out.push_back(token);
      continue;
    }
    std::vector<Tokens> arguments;
    const std::vector<Macro>& definitions = found->second.definitions;
    const bool has_arguments =
        std::any_of(definitions.begin(), definitions.end(), [](const Macro& macro) { return macro.is_function; }) &&
        take_arguments(work, arguments);
    Tokens replacement;
    bool is_replaced = false;
    // Every definition is inserted with the qualifier before the name: `std::` belongs to all of them.
    const Tokens qualifier = qualifier_at_end(out);
    const auto add = [&](const Tokens& one) {
      if (is_replaced) replacement.insert(replacement.end(), qualifier.begin(), qualifier.end());
      replacement.insert(replacement.end(), one.begin(), one.end());
      is_replaced = true;
    };
    for (const Macro& macro : definitions) {
      if (macro.is_function && !has_arguments) continue;
      for (const Tokens& argument : arguments) work_ += argument.size();
      add(substitute(macro, arguments, token, depth));
    }
    if (!is_replaced) {
      out.push_back(token);
      continue;
    }
    // If no definition is certain, the name may be no macro, so it is kept as well.
    if (std::none_of(definitions.begin(), definitions.end(), [](const Macro& macro) { return macro.is_certain; }))
      add(as_written(token, arguments));
    work_ += replacement.size();
    active_.push_back(&found->second);
    found->second.is_active = true;
    work.push_back({.kind = TokenKind::end_of_macro});
    work.insert(work.end(), replacement.rbegin(), replacement.rend());
  }
  while (active_.size() > active_before) end_macro();
}

// Returns the namespace qualifier at the end of `out`, "at :: cuda ::", or nothing.
Preprocessor::Tokens Preprocessor::qualifier_at_end(const Tokens& out) {
  constexpr std::size_t kQualifierTokensMax = 16;
  std::size_t from = out.size();
  while (from >= 2 && out.size() - from < kQualifierTokensMax && is_word(out[from - 1], "::") &&
         out[from - 2].kind == TokenKind::name)
    from -= 2;
  return Tokens(out.begin() + static_cast<std::ptrdiff_t>(from), out.end());
}

// Returns the tokens of a macro call as it was written. The name is active then, so it is not expanded again.
Preprocessor::Tokens Preprocessor::as_written(const Token& name, const std::vector<Tokens>& arguments) {
  Tokens written{name};
  const auto mark = [&](std::string_view text) {
    written.push_back({.kind = TokenKind::punctuation, .text = text, .line = name.line, .file = name.file});
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    mark(i == 0 ? "(" : ",");
    written.insert(written.end(), arguments[i].begin(), arguments[i].end());
  }
  if (!arguments.empty()) mark(")");
  return written;
}

void Preprocessor::end_macro() {
  active_.back()->is_active = false;
  active_.pop_back();
}

// Takes the arguments of a call from the work stack, split at commas. Returns false, and takes nothing, if the next
// token is no parenthesis or the call does not end.
bool Preprocessor::take_arguments(Tokens& work, std::vector<Tokens>& arguments) {
  std::size_t at = work.size();
  for (; at > 0 && work[at - 1].kind == TokenKind::end_of_macro; --at) ++work_;
  if (at == 0 || !is_word(work[at - 1], "(")) return false;
  int depth = 0;  // of parentheses
  arguments.emplace_back();
  while (at > 0 && work_ <= kWorkMax) {
    const Token token = work[--at];
    ++work_;
    if (token.kind == TokenKind::end_of_macro) continue;
    if (is_word(token, "(") && depth++ == 0) continue;
    if (is_word(token, ")") && --depth == 0) {
      // The end marks among the arguments go back to the stack, because their macros are still active.
      Tokens ends;
      for (std::size_t i = at; i < work.size(); ++i) {
        if (work[i].kind == TokenKind::end_of_macro) ends.push_back(work[i]);
      }
      work.resize(at);
      work.insert(work.end(), ends.begin(), ends.end());
      return true;
    }
    if (is_word(token, ",") && depth == 1) {
      arguments.emplace_back();
    } else {
      arguments.back().push_back(token);
    }
  }
  is_cut_off_ = is_cut_off_ || work_ > kWorkMax;
  arguments.clear();
  return false;
}

Preprocessor::Tokens Preprocessor::substitute(const Macro& macro, const std::vector<Tokens>& arguments, const Token& at,
                                              std::size_t depth) {
  const auto argument_of = [&](std::string_view name) -> std::optional<Tokens> {
    const auto found = macro.places.find(name);
    if (found == macro.places.end()) return std::nullopt;
    const std::size_t index = found->second;
    if (index >= arguments.size()) return Tokens{};
    Tokens given = arguments[index];
    const bool takes_the_rest = macro.is_variadic && index + 1 == macro.parameters.size();
    for (std::size_t i = index + 1; takes_the_rest && i < arguments.size(); ++i) {
      given.push_back({.kind = TokenKind::punctuation, .text = ",", .line = at.line, .file = at.file});
      given.insert(given.end(), arguments[i].begin(), arguments[i].end());
    }
    work_ += given.size();
    return given;
  };
  const auto is_paste = [](const Token& token) { return is_word(token, "##") || is_word(token, "%:%:"); };

  Tokens result;
  const Tokens& body = macro.body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    Tokens part{body[i]};
    const bool is_pasted = (i > 0 && is_paste(body[i - 1])) || (i + 1 < body.size() && is_paste(body[i + 1]));
    if (is_paste(body[i])) continue;
    if (macro.is_function && is_word(body[i], "#") && i + 1 < body.size()) {
      if (const auto given = argument_of(body[i + 1].text)) {
        part = {{.kind = TokenKind::text, .text = keep("\"" + spelled(*given, 4096) + "\"")}};
        ++i;
      }
    } else if (body[i].text == "__VA_OPT__") {
      continue;  // its parentheses stay, which does not change the names
    } else if (const auto given = argument_of(body[i].text)) {
      part.clear();
      if (is_pasted) {
        part = *given;
      } else {
        expand(*given, part, depth + 1);
      }
    }
    for (Token& token : part) {
      token.line = at.line;
      token.file = at.file;
    }
    const bool joins = i > 0 && is_paste(body[i - 1]) && !result.empty() && !part.empty();
    if (joins && !is_word(result.back(), ",")) {
      result.back() = pasted(result.back(), part.front());
      result.insert(result.end(), part.begin() + 1, part.end());
    } else {
      result.insert(result.end(), part.begin(), part.end());
    }
    work_ += 1 + part.size();
    if (result.size() > kTokensMax || work_ > kWorkMax) {
      is_cut_off_ = true;
      break;
    }
  }
  return result;
}

// Returns the left token where both together are longer than a limit, so that every token has a text.
Token Preprocessor::pasted(const Token& left, const Token& right) {
  Token token = left;
  if (left.text.size() + right.text.size() > kPastedBytesMax) return token;
  const std::string_view text = keep(std::string(left.text) + std::string(right.text));
  if (text.empty()) return token;
  token.text = text;
  if (left.kind == TokenKind::punctuation) token.kind = right.kind;
  return token;
}

// Keeps a text that a macro makes. Beyond kMadeBytesMax it returns an empty text, and the source is cut off.
std::string_view Preprocessor::keep(std::string text) {
  if (text.size() > kMadeBytesMax - made_bytes_) {
    is_cut_off_ = true;
    return {};
  }
  made_bytes_ += text.size();
  return kept_.emplace_back(std::move(text));
}

}  // namespace kq::guard
