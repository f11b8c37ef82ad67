// What may be said of a kernel by name and value: in a `kq:` comment at its head. One table; to add a setting, add a
// row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "producer/formats/candidate.h"

namespace kq::producer {

struct Setting {
  std::string_view key;
  std::optional<std::string> (*set)(Candidate& candidate, const std::string& value,
                                    std::int64_t now_ms);  // what is wrong with the value
};
std::span<const Setting> settings();

// What is wrong with the key or the value, or nothing. Keys that begin with "tag." are tags.
std::optional<std::string> set_by_name(Candidate& candidate, const std::string& key, const std::string& value,
                                       std::int64_t now_ms);

// One `key=value` of a comment at the head of a source file.
struct HeaderSetting {
  std::string key;
  std::string value;
  std::size_t line = 0;
};
// The settings in the comments before the first line of code: "# kq: problem=relu.py precision=fp16" or "// kq:
// gpu=\"NVIDIA H200\"". What is no key=value comes back with an empty key, so that nothing is passed over in silence.
std::vector<HeaderSetting> read_header(std::string_view text);

inline constexpr std::size_t kHeaderBytesMax = 64u << 10;  // of a file that are looked at

}  // namespace kq::producer
