#include "tools/table/cell.h"

#include <cmath>

namespace kq::tools {
namespace {

constexpr std::uint64_t kIntegerMax = 1ull << 53;  // a double holds all integers up to this one exactly

struct ToJson {
  producer::Json operator()(std::monostate) const { return {nullptr}; }
  producer::Json operator()(bool value) const { return {value}; }
  producer::Json operator()(std::uint64_t value) const {
    if (value > kIntegerMax) return {std::to_string(value)};
    return {static_cast<std::int64_t>(value)};
  }
  producer::Json operator()(double value) const {
    if (!std::isfinite(value)) return {nullptr};
    return {value};
  }
  producer::Json operator()(const std::string& value) const { return {value}; }
};

}  // namespace

producer::Json to_json(const Cell& cell) {
  return std::visit(ToJson{}, cell);
}

// Text and numbers are appended without a temporary string, because most of the time of a dump is spent here.
void append_json(const Cell& cell, std::string& line) {
  const auto* text = std::get_if<std::string>(&cell);
  const auto* number = std::get_if<double>(&cell);
  if (text != nullptr) return producer::append_json(std::string_view(*text), line);
  if (number != nullptr && std::isfinite(*number)) return producer::append_json(*number, line);
  if (cell.index() == 0) {
    line += "null";
  } else {
    line += producer::to_text(to_json(cell));
  }
}

}  // namespace kq::tools
