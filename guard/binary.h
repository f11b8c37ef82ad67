// Files that may hold code and that nobody can read: built libraries, Python's bytecode, archives that it imports from,
// whatever else is no text.
#pragma once

#include <string_view>
#include <vector>

#include "guard/guard.h"

namespace kq::guard {

// Whether it is such a file, by its name or by how it begins.
bool is_binary(std::string_view bytes, std::string_view name);

// Judges it: a library by what it asks the loader for (guard/elf.h), the others are rejected as they are. Nothing for
// any other file.
std::vector<Finding> judge_binary(std::string_view bytes, std::string_view name);

}  // namespace kq::guard
