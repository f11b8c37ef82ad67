// Reads the imports of a built library: the libraries and symbols that it asks the loader for. The bytes are hostile.
//
// Host code is read as the loader reads it. The loader ignores section headers, which may be wrong or stripped. So the
// reader starts from the program headers, and a symbol counts as used if a relocation names it. Device code (a cubin)
// is read by its sections, as the CUDA driver reads it.
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
    8u << 20;  // of all names together: names may overlap, so that even a small file can hold very many

struct ElfImports {
  bool is_device_code = false;
  std::vector<std::string> libraries{};  // "libcudart.so.13", in order
  std::vector<std::string> symbols{};    // sorted, each once
  bool is_dynamic = false;               // false: the program needs no loader, which hides its imports
  bool has_writable_code = false;        // it has a segment that is writable and executable
  bool has_cuda_runtime = false;         // the CUDA runtime is linked in statically, so that its use is no import
  bool is_packed = false;                // it was compressed with UPX
};

bool is_elf(std::string_view bytes);

// Fails with bad_input and a sentence if no loader would accept the file.
Expected<ElfImports> read_elf(std::string_view bytes);

// Judges a library by the rules: its symbols are facts of kind `symbol`, and anything that hides imports is a note.
// `name` is the file of the findings, and their line is 0.
std::vector<Finding> judge_elf(std::string_view bytes, std::string_view name);

}  // namespace kq::guard
