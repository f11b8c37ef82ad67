// Colours of text on a terminal. A program that writes to a file or a pipe, or whose environment sets NO_COLOR
// (no-color.org), writes no colours.
#pragma once

#include <string>
#include <string_view>

namespace kq::sys {

enum class Colour { none, bold, green, red, yellow, dim };

// Returns whether text for this descriptor may have colours: the descriptor is a terminal, TERM is neither empty nor
// "dumb", and NO_COLOR is unset or empty.
bool takes_colour(int descriptor);

// Returns the text between the escape sequences of a colour, or the text alone for Colour::none.
std::string coloured(std::string_view text, Colour colour);

}  // namespace kq::sys
