#include "sys/error_text.h"

#include <cstring>

namespace kq::sys {

std::string error_text(int error) {
  // The text is in static storage. strerror() may write an unknown number into a buffer of the calling thread.
  const char* const text = ::strerrordesc_np(error);
  return text != nullptr ? text : "unknown error " + std::to_string(error);
}

std::string error_text(std::string_view action, int error) {
  return std::string(action) + ": " + error_text(error);
}

}  // namespace kq::sys
