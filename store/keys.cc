#include "store/keys.h"

namespace kq {
namespace {

constexpr std::size_t kLaneBytes = 9;

template <class T>
void append_big_endian(std::string& key, T value) {
  for (int shift = 8 * (static_cast<int>(sizeof value) - 1); shift >= 0; shift -= 8) key += static_cast<char>(value >> shift & 0xFF);
}

// The first bytes of `key`, which it loses; there are enough of them.
template <class T>
T take_big_endian(std::string_view& key) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value = static_cast<T>(value << 8 | static_cast<unsigned char>(key[i]));
  key.remove_prefix(sizeof value);
  return value;
}

std::string lane_prefix(const LaneId& lane) {
  std::string key;
  key.reserve(kLaneBytes + sizeof(Sequence));
  append_big_endian(key, lane.needs);
  key += static_cast<char>(lane.priority);
  append_big_endian(key, lane.submitter);
  return key;
}

}  // namespace

std::string sequence_key(Sequence seq) {
  std::string key;
  append_big_endian(key, seq);
  return key;
}

std::optional<Sequence> sequence_from(std::string_view key) {
  if (key.size() != sizeof(Sequence)) return std::nullopt;
  return take_big_endian<Sequence>(key);
}

std::string queue_key(const LaneId& lane, Sequence seq) {
  std::string key = lane_prefix(lane);
  append_big_endian(key, seq);
  return key;
}

std::string queue_end(const LaneId& lane) {
  std::string key = queue_key(lane, ~Sequence{0});
  key += '\0';
  return key;
}

std::optional<QueuePlace> queue_place_from(std::string_view key) {
  if (key.size() != kLaneBytes + sizeof(Sequence)) return std::nullopt;
  QueuePlace place;
  place.lane.needs = take_big_endian<std::uint32_t>(key);
  const auto priority = take_big_endian<std::uint8_t>(key);
  if (priority >= kEnumNames<Priority>.size()) return std::nullopt;
  place.lane.priority = static_cast<Priority>(priority);
  place.lane.submitter = take_big_endian<std::uint32_t>(key);
  place.seq = take_big_endian<Sequence>(key);
  return place;
}

std::string timer_key(std::int64_t at_ms, Sequence seq) {
  std::string key;
  append_big_endian(key, static_cast<std::uint64_t>(at_ms));
  append_big_endian(key, seq);
  return key;
}

std::optional<TimerPlace> timer_place_from(std::string_view key) {
  if (key.size() != sizeof(std::int64_t) + sizeof(Sequence)) return std::nullopt;
  const auto at_ms = static_cast<std::int64_t>(take_big_endian<std::uint64_t>(key));
  return TimerPlace{at_ms, take_big_endian<Sequence>(key)};
}

std::string numbered_key(std::string_view prefix, std::uint32_t number) {
  std::string key(prefix);
  append_big_endian(key, number);
  return key;
}

std::optional<std::uint32_t> number_from(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix) || key.size() != prefix.size() + sizeof(std::uint32_t)) return std::nullopt;
  key.remove_prefix(prefix.size());
  return take_big_endian<std::uint32_t>(key);
}

std::string hash_key(const Hash& hash) {
  return std::string(as_bytes(hash));
}

std::string run_key(std::string_view run, std::string_view label) {
  return run_prefix(run).append(label);
}

std::string run_prefix(std::string_view run) {
  std::string key(run);
  key += '\0';
  return key;
}

std::string run_prefix_end(std::string_view run) {
  std::string key(run);
  key += '\1';
  return key;
}

std::string board_key(const Hash& problem, std::string_view device_model) {
  return hash_key(problem).append(device_model);
}

}  // namespace kq
