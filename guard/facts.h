// Facts: how a Python source uses names, as text. The harness writes them (harness/facts/ast_facts.py) in a sandboxed
// child; this file reads them as hostile bytes.
//
// There is one fact per line, with tabs between its fields. A fact belongs to the last file named above it:
//
//   file <TAB> add.py <TAB> 2                                                  the last field is kFactsVersion
//   12 <TAB> call <TAB> torch.cuda.Stream
//   13 <TAB> call <TAB> torch.cuda.stream <TAB> torch.cuda.current_stream()    the first argument, if it is known
//   14 <TAB> call <TAB> torch.cuda.Stream <TAB> <TAB> dead                     in code that never runs
//   20 <TAB> code <TAB> #include <x.h>\n <TAB> 1                               a line of the source's first C++ text
//
// Names are resolved through imports, aliases, getattr and constant strings, as far as that is possible without running
// the source. "()" in a name stands for the value that a call returned, "?" for an unknown part. An argument that is a
// text begins with a double quote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/error.h"

namespace kq::guard {

inline constexpr std::string_view kFactsVersion = "2";
inline constexpr std::size_t kFactsBytesMax = 8u << 20;
inline constexpr std::size_t kFactLineBytesMax = 1024;

// How a name is used.
enum class FactKind {
  call,
  base,     // it is the base of a class
  value,    // it is passed on or stored, so that other code may call it
  set,      // it is assigned, deleted or replaced; the argument is the new value
  read,     // an attribute is read that gives access to the interpreter: a frame, a function's globals
  option,   // a keyword argument, a #define or a #pragma; the argument is its constant value
  import_,  // a module, or a name of a module, is imported
  note,     // a property of the source itself
  code,     // a part of a C++ text, escaped; the argument is the number of the text
  text,     // a string in a C++ source that is a name
  symbol    // an import of a built library
};
constexpr std::array<std::string_view, 11> enum_names(FactKind) {
  return {"call", "base", "value", "set", "read", "option", "import", "note", "code", "text", "symbol"};
}

// One use of a name in a source.
struct Fact {
  std::string_view file{};
  std::uint32_t line = 0;
  FactKind kind = FactKind::call;
  std::string_view name{};      // "torch.cuda.stream"
  std::string_view argument{};  // "torch.cuda.current_stream()", or empty
  bool is_dead = false;         // the code never runs

  friend bool operator==(const Fact&, const Fact&) = default;
};

// Parses facts; they are views into `text`. The error names the first malformed line, which the harness cannot have
// written.
Expected<std::vector<Fact>> parse_facts(std::string_view text);

// A C++ text inside a Python source, joined from its facts of kind `code`, and the line in the Python file of each of
// its lines.
struct CodeText {
  std::string_view file;
  std::string text;
  std::vector<std::uint32_t> lines;  // the line in the file of the first, second, ... line

  std::uint32_t line_in_file(std::uint32_t line) const;
};
std::vector<CodeText> code_texts(const std::vector<Fact>& facts);

}  // namespace kq::guard
