// What a Python source does, as text: written by the harness (harness/ast_facts.py) in a sandboxed child, read here as hostile bytes.
//
// One fact per line, tab separated; facts belong to the last file named above them:
//
//   file <TAB> add.py
//   12 <TAB> call <TAB> torch.cuda.Stream
//   13 <TAB> call <TAB> torch.cuda.stream <TAB> torch.cuda.current_stream()    last: what its first argument is, where that is known
//
// Names are resolved through imports, aliases, getattr and constant strings, as far as that goes without running anything; "()" in a name
// stands for what a call returned, "?" for what could not be told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/error.h"

namespace kq {

inline constexpr std::size_t kFactsBytesMax = 4u << 20;
inline constexpr std::size_t kFactLineBytesMax = 1024;

// How a name is used. `value`: handed on or stored, so that something else may call it; `base`: a class derives from it.
enum class FactKind { call, base, value };
template <>
inline constexpr std::array<std::string_view, 3> kEnumNames<FactKind>{"call", "base", "value"};

struct Fact {
  std::string_view file;
  std::uint32_t line = 0;
  FactKind kind = FactKind::call;
  std::string_view name;      // "torch.cuda.stream"
  std::string_view argument;  // "torch.cuda.current_stream()", or empty

  friend bool operator==(const Fact&, const Fact&) = default;
};

// The facts, as views into `text`. An Error names the line that is none: then it was not our harness that wrote it.
Expected<std::vector<Fact>> parse_facts(std::string_view text);

}  // namespace kq
