// What a Python source does, as text: written by the harness (harness/facts/ast_facts.py) in a sandboxed child, read
// here as hostile bytes.
//
// One fact per line, tab separated; facts belong to the last file named above them:
//
//   file <TAB> add.py <TAB> 2                                                  last: kFactsVersion
//   12 <TAB> call <TAB> torch.cuda.Stream
//   13 <TAB> call <TAB> torch.cuda.stream <TAB> torch.cuda.current_stream()    what its first argument is, where that
//   is known 14 <TAB> call <TAB> torch.cuda.Stream <TAB> <TAB> dead                     in code that plainly never runs
//   20 <TAB> code <TAB> #include <x.h>\n <TAB> 1                               a line of the 1st C++ text in the source
//
// Names are resolved through imports, aliases, getattr and constant strings, as far as that goes without running
// anything; "()" in a name stands for what a call returned, "?" for what could not be told. A text as an argument
// stands behind a double quote.
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
  base,     // a class derives from it
  value,    // handed on or stored, so that something else may call it
  set,      // assigned to, deleted or replaced; the argument is the new value
  read,     // an attribute that leads to what runs an object: a frame, a function's globals
  option,   // an argument by name, a #define, a #pragma; the argument is its constant value
  import_,  // a module or a name of one
  note,     // about the source itself
  code,     // a piece of a C++ text, escaped; the argument is the text's number
  text,     // of C++: a string that is a name
  symbol    // of a built library: what it asks the loader for
};
constexpr std::array<std::string_view, 11> enum_names(FactKind) {
  return {"call", "base", "value", "set", "read", "option", "import", "note", "code", "text", "symbol"};
}

struct Fact {
  std::string_view file{};
  std::uint32_t line = 0;
  FactKind kind = FactKind::call;
  std::string_view name{};      // "torch.cuda.stream"
  std::string_view argument{};  // "torch.cuda.current_stream()", or empty
  bool is_dead = false;         // in code that plainly never runs

  friend bool operator==(const Fact&, const Fact&) = default;
};

// The facts, as views into `text`. An Error names the line that is none: then it was not our harness that wrote it.
Expected<std::vector<Fact>> parse_facts(std::string_view text);

// A C++ text out of the facts of kind `code` that belong together, and the line in the file of each of its own lines.
struct CodeText {
  std::string_view file;
  std::string text;
  std::vector<std::uint32_t> lines;  // of its 1st, 2nd, ... line

  std::uint32_t line_in_file(std::uint32_t line) const;
};
std::vector<CodeText> code_texts(const std::vector<Fact>& facts);

}  // namespace kq::guard
