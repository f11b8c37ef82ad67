#include "producer/gateway/job_id.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "core/submission.h"

namespace kq::gateway {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string base64url(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    for (bit_count += 8; bit_count >= 6; bit_count -= 6) text += kDigits[(bits >> (bit_count - 6)) & 63];
  }
  if (bit_count > 0) text += kDigits[(bits << (6 - bit_count)) & 63];
  return text;
}

// Returns nothing unless the text is exactly what base64url() makes, so that no two ids name one job.
std::optional<std::string> from_base64url(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(digit);
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      bytes += static_cast<char>((bits >> bit_count) & 255);
    }
  }
  return base64url(bytes) == text ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace

std::string JobId::text() const {
  std::string names = run;
  names += '\0';
  return std::to_string(seq) + "." + base64url(names + label);
}

Expected<JobId> JobId::parse(std::string_view text) {
  const auto unknown = [&] {
    const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    return failure(Error{ErrorKind::not_found,
                         is_number ? "the number of a job is no id; GET /api/v1/search?q=" + std::string(text) +
                                         " has the ids of job " + std::string(text)
                                   : "there is no job with this id"});
  };
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot == 0 || text.front() == '0') return unknown();
  JobId id;
  const auto [end, error] = std::from_chars(text.data(), text.data() + dot, id.seq);
  if (error != std::errc() || end != text.data() + dot) return unknown();
  const auto names = from_base64url(text.substr(dot + 1));
  const std::size_t nul = names ? names->find('\0') : std::string::npos;
  if (nul == std::string::npos) return unknown();
  id.run = names->substr(0, nul);
  id.label = names->substr(nul + 1);
  if (name_error(id.run) || name_error(id.label)) return unknown();
  return id;
}

}  // namespace kq::gateway
