#include "producer/formats/sample_name.h"

#include <charconv>

namespace kq::producer {
namespace {

// Reads `word` and a number from the front of the text.
bool take(std::string_view& text, std::string_view word, std::uint32_t& number) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::optional<SampleName> parse_sample_name(std::string_view file_name) {
  SampleName name;
  const bool right = take(file_name, "level_", name.level) && take(file_name, "_problem_", name.problem) &&
                     take(file_name, "_sample_", name.sample) && file_name == kSampleEnding;
  return right ? std::optional(name) : std::nullopt;
}

std::optional<std::uint32_t> level_of_result(const Json& result) {
  const Json* const metadata = result.find("metadata");
  const Json* const level = metadata == nullptr ? nullptr : metadata->find(kKernelBenchLevelKey);
  if (level == nullptr || level->integer() == nullptr) return std::nullopt;
  return static_cast<std::uint32_t>(*level->integer());
}

std::string sample_label(const SampleName& name) {
  return "level_" + std::to_string(name.level) + "_problem_" + std::to_string(name.problem) + "_sample_" +
         std::to_string(name.sample);
}

}  // namespace kq::producer
