// The table of input formats: what is on disk -> Candidates. A new format is one file beside this one and one row in
// formats.cc.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "producer/formats/candidate.h"

namespace kq {

struct Format {
  std::string_view name;
  std::string_view looks_like;  // for the sentence that says what would be right
  bool (*recognises)(const std::filesystem::path& input);
  Found (*read)(const std::filesystem::path& input, const InputOptions& options);
};

// In the order in which they are tried.
std::span<const Format> formats();

// Reads `input` by the first format that recognises it; what is there but no format knows is a mistake.
Found find_candidates(const std::filesystem::path& input, const InputOptions& options);

}  // namespace kq
