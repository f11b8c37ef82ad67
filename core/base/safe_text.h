// Finds and replaces the characters of a text that a reader cannot see and that change how the text around them is
// shown, such as controls of the writing direction and zero-width characters.
//
// Names must not hold them (name_error() in core/submission.h). All other text that a submission wrote passes through
// visible(), on its way to a terminal, a page or a table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kq {

// Returns the length in bytes of the hidden character at the front of `text`, or 0 where another character is there.
// ASCII controls are not meant, and a line end is no hidden character.
std::size_t hidden_character_bytes(std::string_view text);

// Returns the UTF-8 text with U+FFFD in place of each hidden character.
std::string visible(std::string_view text);

// Returns whether a spreadsheet would take a table's cell with this text for a formula, or for one that was made
// harmless by an apostrophe.
bool is_formula(std::string_view text);

}  // namespace kq
