// The table of input formats: what is on disk -> Candidates. A new format is one file beside this one and one row in
// formats.cc.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "producer/formats/candidate.h"

namespace kq::producer {

struct Format {
  std::string_view name;
  std::string_view looks_like;                             // for the sentence that says what would be right
  std::string (*why)(const std::filesystem::path& input);  // by what it is recognised; empty: it is not
  void (*read)(const std::filesystem::path& input, const InputOptions& options, const Finds& finds);
};
// In the order in which they are tried.
std::span<const Format> formats();

struct KnownAs {
  const Format* format = nullptr;
  std::string why;
};
// Reads `input` by the format of that name, or, where it is empty, by the first that recognises it. An Error: it is not
// there, or no format knows it.
Expected<KnownAs> find_candidates(const std::filesystem::path& input, const std::string& format,
                                  const InputOptions& options, const Finds& finds);

}  // namespace kq::producer
