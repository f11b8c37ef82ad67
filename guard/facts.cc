#include "guard/facts.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace kq::guard {
namespace {

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

std::optional<Fact> parse_fact(const std::vector<std::string_view>& parts, std::string_view file) {
  if (file.empty() || parts.size() < 3 || parts.size() > 5) return std::nullopt;
  if (parts.size() == 5 && parts[4] != "dead") return std::nullopt;
  const auto line = parse_number(parts[0]);
  const auto kind = parse_enum<FactKind>(parts[1]);
  if (!line || !kind || parts[2].empty()) return std::nullopt;
  return Fact{.file = file,
              .line = *line,
              .kind = *kind,
              .name = parts[2],
              .argument = parts.size() >= 4 ? parts[3] : std::string_view(),
              .is_dead = parts.size() == 5};
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Appends `piece` with \n, \t, \\ and \xNN replaced. A backslash before anything else stays.
void append_unescaped(std::string& text, std::string_view piece) {
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const char next = piece[i] == '\\' && i + 1 < piece.size() ? piece[i + 1] : '\0';
    if (next == 'n' || next == 't' || next == '\\') {
      text += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
      ++i;
    } else if (next == 'x' && i + 3 < piece.size() && hex_value(piece[i + 2]) >= 0 && hex_value(piece[i + 3]) >= 0) {
      text += static_cast<char>(hex_value(piece[i + 2]) * 16 + hex_value(piece[i + 3]));
      i += 3;
    } else {
      text += piece[i];
    }
  }
}

}  // namespace

Expected<std::vector<Fact>> parse_facts(std::string_view text) {
  if (text.size() > kFactsBytesMax) return our_fault("facts: more than " + std::to_string(kFactsBytesMax) + " bytes");
  if (!text.empty() && text.back() != '\n') return our_fault("facts: the last line does not end");

  std::vector<Fact> facts;
  std::string_view file;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    const std::string where = "facts, line " + std::to_string(++number) + ": ";
    if (line.size() > kFactLineBytesMax)
      return our_fault(where + "longer than " + std::to_string(kFactLineBytesMax) + " bytes");
    const auto parts = split(line, '\t');
    if (!std::all_of(parts.begin(), parts.end(), printable))
      return our_fault(where + "holds bytes that are not printable ASCII");

    if (parts.size() == 3 && parts[0] == "file" && !parts[1].empty() && parts[2] == kFactsVersion) {
      file = parts[1];
    } else if (const auto fact = parse_fact(parts, file)) {
      facts.push_back(*fact);
    } else {
      return our_fault(where + "neither a file nor a fact (line, " + known_names<FactKind>() + ", name)");
    }
  }
  return facts;
}

std::uint32_t CodeText::line_in_file(std::uint32_t line) const {
  if (lines.empty() || line == 0) return 1;
  return lines[std::min<std::size_t>(line, lines.size()) - 1];
}

std::vector<CodeText> code_texts(const std::vector<Fact>& facts) {
  std::vector<CodeText> texts;
  std::string_view number;
  for (const Fact& fact : facts) {
    if (fact.kind != FactKind::code) continue;
    const bool goes_on = !texts.empty() && texts.back().file == fact.file && number == fact.argument;
    if (!goes_on) texts.push_back({.file = fact.file, .text = {}, .lines = {}});
    number = fact.argument;
    CodeText& text = texts.back();
    if (text.text.empty() || text.text.back() == '\n') text.lines.push_back(fact.line);
    append_unescaped(text.text, fact.name);
  }
  return texts;
}

}  // namespace kq::guard
