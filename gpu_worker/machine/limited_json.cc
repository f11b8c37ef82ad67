#include "gpu_worker/machine/limited_json.h"

#include <cstddef>

namespace kq::worker {
namespace {

// The answer holds for valid JSON; the parser refuses other text.
bool is_deeper(std::string_view json, int depth_max) {
  int depth = 0;
  bool is_in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      is_in_text = !is_in_text;
    } else if (is_in_text) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      if (++depth > depth_max) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

nlohmann::json parse_limited(std::string_view text, int depth_max) {
  if (is_deeper(text, depth_max)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace kq::worker
