#include "broker/standby/protocol.h"

#include <optional>
#include <utility>

namespace kq::broker {
namespace {

constexpr char kMark = 'R';
constexpr char kVersion = '1';
constexpr std::size_t kHeadBytes = 3;  // the mark, the version and the kind

void put(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(number >> shift));
}
void put(std::string& out, const std::string& text) {
  put(out, std::uint64_t{text.size()});
  out += text;
}

bool take(std::string_view& bytes, std::uint64_t& number) {
  if (bytes.size() < 8) return false;
  number = 0;
  for (std::size_t i = 0; i < 8; ++i) number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  bytes.remove_prefix(8);
  return true;
}
bool take(std::string_view& bytes, std::string& text) {
  std::uint64_t length = 0;
  if (!take(bytes, length) || length > bytes.size()) return false;
  text = bytes.substr(0, length);
  bytes.remove_prefix(length);
  return true;
}

// Reads the alternative with this index. Returns nothing if the bytes are not exactly one such message.
template <std::size_t I = 0>
std::optional<StandbyMessage> read(std::size_t kind, std::string_view bytes) {
  if constexpr (I < std::variant_size_v<StandbyMessage>) {
    if (kind != I) return read<I + 1>(kind, bytes);
    using Body = std::variant_alternative_t<I, StandbyMessage>;
    Body body;
    const bool whole =
        std::apply([&](auto&... field) { return (take(bytes, field) && ...); }, Body::fields(body)) && bytes.empty();
    return whole ? std::optional<StandbyMessage>(std::move(body)) : std::nullopt;
  } else {
    return std::nullopt;
  }
}

}  // namespace

bool is_standby_message(std::string_view bytes) {
  return bytes.starts_with(kMark);
}

std::string encode_standby(const StandbyMessage& message) {
  std::string out{kMark, kVersion, static_cast<char>('a' + message.index())};
  std::visit(
      [&](const auto& body) { std::apply([&](const auto&... field) { (put(out, field), ...); }, body.fields(body)); },
      message);
  return out;
}

Expected<StandbyMessage> decode_standby(std::string_view bytes) {
  if (bytes.size() < kHeadBytes || bytes[0] != kMark) return bad_input("this is no message of a standby");
  if (bytes[1] != kVersion) {
    return bad_input("the other broker replicates in version '" + std::string(1, bytes[1]) +
                     "', this one in version 1; both need the same version of kq");
  }
  auto message = read(static_cast<std::size_t>(bytes[2] - 'a'), bytes.substr(kHeadBytes));
  if (!message) return bad_input("a message of a standby is malformed");
  return std::move(*message);
}

}  // namespace kq::broker
