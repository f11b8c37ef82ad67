// The table of input formats, each of which reads Candidates from files. A new format needs a file in this folder and a
// row in formats.cc.
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
  std::string_view description;  // the inputs that it reads, for error texts
  // Returns why the input is of this format, or an empty text where it is not.
  std::string (*recognise)(const std::filesystem::path& input);
  void (*read)(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);
};
// Returns the formats in the order in which they are tried.
std::span<const Format> formats();

struct RecognisedFormat {
  const Format* format = nullptr;
  std::string reason;
};
// Reads `input` by the format of that name, or, where `format` is empty, by the first format that recognises it. Fails
// where the input does not exist or no format recognises it.
Expected<RecognisedFormat> find_candidates(const std::filesystem::path& input, const std::string& format,
                                           const InputOptions& options, const CandidateSink& sink);

}  // namespace kq::producer
