#include "sys/json_depth.h"

#include <cstddef>

namespace kq::sys {

bool is_nested_at_most(std::string_view json, int depth_max) {
  int depth = 0;
  bool is_in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      is_in_text = !is_in_text;
    } else if (is_in_text) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      if (++depth > depth_max) return false;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return true;
}

}  // namespace kq::sys
