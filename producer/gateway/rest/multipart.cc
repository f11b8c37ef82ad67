#include "producer/gateway/rest/multipart.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kq::gateway {
namespace {

constexpr std::size_t kBoundaryBytesMax = 70;  // RFC 2046

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return low;
}

// Returns the value of a parameter such as name="kernel" behind a semicolon, or nothing. In quotes, \" stands for a
// quote.
std::optional<std::string> parameter(std::string_view field, std::string_view name) {
  for (std::size_t at = field.find(';'); at != std::string_view::npos;) {
    std::string_view rest = field.substr(at + 1);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string key = lower(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    std::string value;
    if (rest.starts_with('"')) {
      std::size_t i = 1;
      for (; i < rest.size() && rest[i] != '"'; ++i) {
        if (rest[i] == '\\' && i + 1 < rest.size() && (rest[i + 1] == '"' || rest[i + 1] == '\\')) ++i;
        value += rest[i];
      }
      if (i >= rest.size()) return std::nullopt;
      rest.remove_prefix(i + 1);
    } else {
      value = rest.substr(0, std::min(rest.find(';'), rest.size()));
      rest.remove_prefix(value.size());
    }
    if (key == name) return value;
    const std::size_t next = rest.find(';');
    at = next == std::string_view::npos ? next : field.size() - rest.size() + next;
  }
  return std::nullopt;
}

// Reads the head of a part. Fails where it has no name.
Expected<FormPart> read_part_head(std::string_view head) {
  FormPart part;
  bool has_name = false;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    if (!lower(line.substr(0, 20)).starts_with("content-disposition:")) continue;
    const auto name = parameter(line, "name");
    if (!name || name->empty()) return bad_input("a part of the form has no name");
    part.name = *name;
    part.file_name = parameter(line, "filename").value_or("");
    has_name = true;
  }
  if (!has_name) return bad_input("a part of the form has no Content-Disposition");
  return part;
}

}  // namespace

Expected<std::vector<FormPart>> parse_form(std::string_view content_type, std::string_view body) {
  const auto boundary = parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kBoundaryBytesMax)
    return bad_input("the Content-Type of the form has no boundary of 1 to 70 characters");
  const std::string line = "--" + *boundary;
  const std::string separator = "\r\n" + line;
  if (!body.starts_with(line)) {
    const std::size_t first = body.find(separator);
    if (first == std::string_view::npos) return bad_input("the form does not have the boundary of its Content-Type");
    body.remove_prefix(first + 2);
  }
  body.remove_prefix(line.size());
  std::vector<FormPart> parts;
  while (!body.starts_with("--")) {
    if (!body.starts_with("\r\n")) return bad_input("the form has bytes behind a boundary");
    body.remove_prefix(2);
    const std::size_t head_end = body.substr(0, kFormHeadBytesMax).find("\r\n\r\n");
    if (head_end == std::string_view::npos)
      return bad_input("a part of the form has no head, or one of more than " + std::to_string(kFormHeadBytesMax) +
                       " bytes");
    KQ_TRY_VALUE(FormPart part, read_part_head(body.substr(0, head_end)));
    body.remove_prefix(head_end + 4);
    const std::size_t end = body.find(separator);
    if (end == std::string_view::npos) return bad_input("the last part of the form has no boundary behind it");
    part.content = body.substr(0, end);
    body.remove_prefix(end + separator.size());
    if (parts.size() >= kFormPartsMax)
      return bad_input("the form has more than " + std::to_string(kFormPartsMax) + " parts");
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace kq::gateway
