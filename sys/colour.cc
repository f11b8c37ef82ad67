#include "sys/colour.h"

#include <unistd.h>

#include <cstdlib>

namespace kq::sys {
namespace {

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::none:
      return "";
    case Colour::bold:
      return "1";
    case Colour::green:
      return "32";
    case Colour::red:
      return "31";
    case Colour::yellow:
      return "33";
    case Colour::dim:
      return "2";
  }
  return "";
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool takes_colour(int descriptor) {
  const std::string_view terminal = environment("TERM");
  return environment("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb" && ::isatty(descriptor) == 1;
}

std::string coloured(std::string_view text, Colour colour) {
  const std::string_view code = code_of(colour);
  if (code.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace kq::sys
