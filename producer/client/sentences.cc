#include "producer/client/sentences.h"

#include <algorithm>

#include "core/submission.h"

namespace kq::producer {
namespace {

std::string escaped(unsigned char byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\r') return "\\r";
  if (byte == '\t') return "\\t";
  constexpr std::string_view digits = "0123456789abcdef";
  return {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

// Returns the length of the printable character at the front of the text, or 0 where there is none.
std::size_t printable_length(std::string_view text) {
  // A name of exactly one printable character is valid.
  for (std::size_t length = 1; length <= std::min<std::size_t>(4, text.size()); ++length) {
    if (!name_error(text.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

std::string cut_message(std::string_view text) {
  if (text.size() <= kMessageShownMax) return std::string(text);
  constexpr std::size_t kEnd = kMessageShownMax / 4;
  std::size_t begin = kMessageShownMax - kEnd;
  std::size_t end = text.size() - kEnd;
  // No character of several bytes is cut.
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  while (begin > 0 && is_inside(begin)) --begin;
  while (end < text.size() && is_inside(end)) ++end;
  return std::string(text.substr(0, begin)) + " ... (" + std::to_string(end - begin) + " bytes) ... " +
         std::string(text.substr(end));
}

std::string one_line(std::string_view whole) {
  const std::string cut = cut_message(whole);
  std::string_view text = cut;
  std::string line;
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    line += length > 0 ? std::string(text.substr(0, length)) : escaped(static_cast<unsigned char>(text.front()));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

std::string listed(std::string_view program, std::span<const std::string> sentences) {
  const std::string lead = std::string(program) + ": ";
  std::string text;
  const std::size_t shown = std::min(sentences.size(), kSentencesShown);
  for (const std::string& sentence : sentences.first(shown)) text += lead + one_line(sentence) + "\n";
  if (shown < sentences.size()) text += lead + "and " + std::to_string(sentences.size() - shown) + " more\n";
  return text;
}

std::string left_out_text(std::size_t kernel_count, std::string_view what_was_not_done) {
  return counted(kernel_count, "kernel") + (kernel_count == 1 ? " was" : " were") + " wrong and not " +
         std::string(what_was_not_done);
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+:@,=";
  if (word.find_first_not_of(plain) == std::string::npos && !word.starts_with('-')) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string counted(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace kq::producer
