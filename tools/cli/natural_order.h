// The order in which people expect names: relu2 comes before relu10.
#pragma once

#include <compare>
#include <string_view>

namespace kq::tools {

// Compares byte by byte, but digits that stand together as one number of any length. Names that differ only in leading
// zeros are ordered by their bytes, so only equal names are equal.
std::strong_ordering natural_order(std::string_view a, std::string_view b);

}  // namespace kq::tools
