// The settings that a kernel may have in a `kq:` comment at its head, as name and value. A new setting is a new row in
// the table in settings.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "producer/formats/candidate.h"

namespace kq::producer {

// Read a tolerance and a factor of the truth rule. The error text continues a sentence whose subject is the setting.
Expected<double> parse_tolerance(const std::string& text);
Expected<double> parse_truth_factor(const std::string& text);

// Sets one setting of a candidate. Returns what is wrong with the key or the value, or nothing. A key "tag.NAME" sets a
// tag. What decides which outputs count as correct cannot be set.
std::optional<std::string> set_by_name(Candidate& candidate, const std::string& key, const std::string& value,
                                       std::int64_t now_ms);

// One `key=value` of a comment at the head of a source file.
struct HeaderSetting {
  std::string key;
  std::string value;
  std::size_t line = 0;
};
// The settings in the comments before the first line of code: "# kq: problem=relu.py precision=fp16" or "// kq:
// gpu=\"NVIDIA H200\"". A word that is no key=value is returned with an empty key, so that the caller can report it.
std::vector<HeaderSetting> read_header(std::string_view text);

inline constexpr std::size_t kHeaderBytesMax = 64u << 10;  // the part of a file in which settings are searched

}  // namespace kq::producer
