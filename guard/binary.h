// Files that may hold code but are no readable text: built libraries, Python bytecode, archives from which Python
// imports, and other files with NUL bytes.
#pragma once

#include <string_view>
#include <vector>

#include "guard/guard.h"

namespace kq::guard {

// Returns whether a file is of such a kind, by its name or its content.
bool is_binary(std::string_view bytes, std::string_view name);

// Judges such a file: a library by its imports (guard/elf.h); every other kind is rejected. Returns no findings for a
// text.
std::vector<Finding> judge_binary(std::string_view bytes, std::string_view name);

}  // namespace kq::guard
