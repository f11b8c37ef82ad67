// Texts of the errors that the operating system reports.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

namespace kq::sys {

// Returns the system's text for an errno value, for example "No such file or directory". Safe in several threads.
std::string error_text(int error);

// Returns "ACTION: TEXT" with the system's text for the errno value, by default for the last error of this thread.
std::string error_text(std::string_view action, int error = errno);

}  // namespace kq::sys
