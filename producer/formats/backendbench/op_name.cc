#include "producer/formats/backendbench/op_name.h"

#include <algorithm>
#include <vector>

#include "producer/formats/recognise.h"

namespace kq::producer::backendbench {
namespace {

constexpr std::string_view kOverloadMark = "__";

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    parts.emplace_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::optional<std::string> op_name(std::string_view written) {
  constexpr std::string_view kOps = "torch.ops.";
  if (written.starts_with(kOps)) written.remove_prefix(kOps.size());
  std::string name(written);
  if (const std::size_t colons = name.find("::"); colons != std::string::npos) name.replace(colons, 2, ".");
  std::vector<std::string> parts = parts_of(name);
  if (!std::ranges::all_of(parts, is_identifier) || parts.size() > 3) return std::nullopt;
  if (parts.front() == "aten" && parts.size() > 1) parts.erase(parts.begin());
  if (parts.size() == 1) parts.emplace_back("default");
  name = parts[0] + "." + parts[1];
  return parts.size() == 3 ? name + "." + parts[2] : name;
}

std::string folder_name(std::string_view op) {
  std::string folder;
  for (const char c : op) folder += c == '.' ? std::string(kOverloadMark) : std::string(1, c);
  return folder;
}

std::optional<std::string> op_of_folder(std::string_view folder) {
  const std::size_t mark = folder.rfind(kOverloadMark);
  if (mark == std::string_view::npos || mark == 0) return std::nullopt;
  const std::string_view base = folder.substr(0, mark), overload = folder.substr(mark + kOverloadMark.size());
  if (!is_identifier(base) || !is_identifier(overload)) return std::nullopt;
  return std::string(base) + "." + std::string(overload);
}

}  // namespace kq::producer::backendbench
