// Finds one row of a run. A RunQuery asks for the rows after a label, so a row is asked for by what lies before it.
#pragma once

#include <string>

namespace kq::producer {

// Returns the largest text before `label` in the order of bytes among those that labels can be, so that the first row
// after it has this label. The label must not be empty.
std::string before_label(const std::string& label);

}  // namespace kq::producer
