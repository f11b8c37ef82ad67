// Builders of cells for the tests of the table.
#pragma once

#include <cstdint>
#include <string>

#include "tools/table/cell.h"

namespace kq::tools {

inline const Cell kUnknown;

inline Cell text(std::string value) {
  return value;
}

inline Cell number(double value) {
  return value;
}

inline Cell count(std::uint64_t value) {
  return value;
}

}  // namespace kq::tools
