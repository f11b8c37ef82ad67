// Text as it stands in a page: escaped for HTML, or packed so that no byte of it can end the element that holds it.
#pragma once

#include <string>
#include <string_view>

namespace kq::tools {

// Returns the text with the characters that HTML gives a meaning escaped, in content and in quoted attributes. Control
// characters and those that change the direction of writing become visible.
std::string html_text(std::string_view text);

// Returns a name as HTML that may be broken into lines after each / and _.
std::string name_html(std::string_view name);

// Returns a file name as a relative address, with the characters that have a meaning in addresses escaped.
std::string address_of(std::string_view name);

// Returns the text compressed in the form that browsers call "deflate" (zlib), in Base64. The script of the page
// unpacks the text.
std::string packed(std::string_view text);

}  // namespace kq::tools
