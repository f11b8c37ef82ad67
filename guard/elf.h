// What a built library asks the loader for: hostile bytes, read the way the loader reads them.
//
// Section headers may lie or be stripped, and the loader does not look at them: for host code everything is found from
// the program headers on, and a symbol counts as used when a relocation names it. Device code (a cubin) is read by its
// sections, as the CUDA driver does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "guard/guard.h"

namespace kq::guard {

inline constexpr std::size_t kElfSymbolsMax = 200'000;
inline constexpr std::size_t kElfNameBytesMax = 4096;
inline constexpr std::size_t kElfNamesBytesMax =
    8u << 20;  // of all: a name may lie inside of another, so that a small file has any amount of them

struct ElfImports {
  bool is_device_code = false;
  std::vector<std::string> libraries{};  // "libcudart.so.13", in order
  std::vector<std::string> symbols{};    // sorted, each once
  bool is_dynamic = false;               // a program without needs no loader, and hides what it uses
  bool has_writable_code = false;        // a segment that may be written and run
  bool has_cuda_runtime = false;         // linked in, so that its use is no import
  bool is_packed = false;
};

bool is_elf(std::string_view bytes);

// Bad input for what no loader would take, with a sentence.
Expected<ElfImports> read_elf(std::string_view bytes);

// Judges it by the rules: its symbols as facts of kind `symbol`, what hides them as notes. `name` is the file in the
// findings, line 0.
std::vector<Finding> judge_elf(std::string_view bytes, std::string_view name);

}  // namespace kq::guard
