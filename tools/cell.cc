#include "tools/cell.h"

#include <cmath>

namespace kq {
namespace {

constexpr std::uint64_t kIntegerMax = 1ull << 53;  // above it a reader's double is not exact

struct ToJson {
  Json operator()(std::monostate) const { return {nullptr}; }
  Json operator()(bool value) const { return {value}; }
  Json operator()(std::uint64_t value) const {
    if (value > kIntegerMax) return {std::to_string(value)};
    return {static_cast<std::int64_t>(value)};
  }
  Json operator()(double value) const {
    if (!std::isfinite(value)) return {nullptr};
    return {value};
  }
  Json operator()(const std::string& value) const { return {value}; }
};

}  // namespace

Json to_json(const Cell& cell) {
  return std::visit(ToJson{}, cell);
}

std::string json_text(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);  // the most frequent one, and the only one that costs to copy
  return text != nullptr ? json_quoted(*text) : to_text(to_json(cell));
}

}  // namespace kq
