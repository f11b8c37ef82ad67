#include "store/keys.h"

#include <algorithm>
#include <array>

namespace kq::store {
namespace {

constexpr std::size_t kLaneBytes = 9;
constexpr std::size_t kEntryBytes = 21;
constexpr std::size_t kTimerBytes = 17;
constexpr std::array<std::string_view, 3> kPackingLetters{"", "z", "4"};  // by Packing

template <class T>
void append_big_endian(std::string& key, T value) {
  for (int shift = 8 * (static_cast<int>(sizeof value) - 1); shift >= 0; shift -= 8)
    key += static_cast<char>(value >> shift & 0xFF);
}

// Removes and returns the first bytes of `key`, which must be long enough.
template <class T>
T take_big_endian(std::string_view& key) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(key[i]));
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

// Removes a lane from the front of `key`, which must be long enough. Returns an empty optional if the priority is
// invalid.
std::optional<LaneId> take_lane(std::string_view& key) {
  LaneId lane;
  lane.needs = take_big_endian<std::uint32_t>(key);
  const auto priority = take_big_endian<std::uint8_t>(key);
  if (priority >= kEnumNames<Priority>.size()) return std::nullopt;
  lane.priority = static_cast<Priority>(priority);
  lane.submitter = take_big_endian<std::uint32_t>(key);
  return lane;
}

void append_entry(std::string& value, const QueueEntry& entry) {
  append_big_endian(value, entry.problem);
  append_big_endian(value, static_cast<std::uint64_t>(entry.submitted_at_ms));
  append_big_endian(value, entry.bytes);
  append_big_endian(value, static_cast<std::uint8_t>(entry.leased));
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
  const auto lane = take_lane(key);
  if (!lane) return std::nullopt;
  return QueuePlace{*lane, take_big_endian<Sequence>(key)};
}

std::string queue_value(const QueueEntry& entry) {
  std::string value;
  append_entry(value, entry);
  return value;
}

std::optional<QueueEntry> queue_entry_from(std::string_view value) {
  if (value.size() != kEntryBytes) return std::nullopt;
  QueueEntry entry;
  entry.problem = take_big_endian<std::uint64_t>(value);
  entry.submitted_at_ms = static_cast<std::int64_t>(take_big_endian<std::uint64_t>(value));
  entry.bytes = take_big_endian<std::uint32_t>(value);
  entry.leased = take_big_endian<std::uint8_t>(value) != 0;
  return entry;
}

std::string timer_key(const TimerPlace& place) {
  std::string key;
  append_big_endian(key, static_cast<std::uint64_t>(place.at_ms));
  append_big_endian(key, static_cast<std::uint8_t>(place.kind));
  append_big_endian(key, place.seq);
  return key;
}

std::string timer_end(std::int64_t at_ms) {
  std::string key;
  append_big_endian(key, static_cast<std::uint64_t>(at_ms) + 1);
  return key;
}

std::optional<TimerPlace> timer_place_from(std::string_view key) {
  if (key.size() != kTimerBytes) return std::nullopt;
  TimerPlace place;
  place.at_ms = static_cast<std::int64_t>(take_big_endian<std::uint64_t>(key));
  const auto kind = take_big_endian<std::uint8_t>(key);
  if (kind > static_cast<std::uint8_t>(TimerKind::expires)) return std::nullopt;
  place.kind = static_cast<TimerKind>(kind);
  place.seq = take_big_endian<Sequence>(key);
  return place;
}

std::string timer_value(const LaneId& lane, const QueueEntry& entry) {
  std::string value = lane_prefix(lane);
  append_entry(value, entry);
  return value;
}

std::optional<std::pair<LaneId, QueueEntry>> timer_value_from(std::string_view value) {
  if (value.size() != kLaneBytes + kEntryBytes) return std::nullopt;
  const auto lane = take_lane(value);
  if (!lane) return std::nullopt;
  return std::pair(*lane, *queue_entry_from(value));
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

std::string blob_key(const Hash& hash, Packing packing) {
  return hash_key(hash).append(kPackingLetters[static_cast<std::size_t>(packing)]);
}

std::optional<std::pair<Hash, Packing>> blob_place_from(std::string_view key) {
  const auto hash = hash_from_bytes(key.substr(0, sizeof(Hash::bytes)));
  if (!hash) return std::nullopt;
  const auto letter = std::ranges::find(kPackingLetters, key.substr(sizeof(Hash::bytes)));
  if (letter == kPackingLetters.end()) return std::nullopt;
  return std::pair(*hash, static_cast<Packing>(letter - kPackingLetters.begin()));
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

std::string reuse_key(Sequence seq, std::string_view run_key) {
  return sequence_key(seq).append(run_key);
}

std::optional<ReusePlace> reuse_place_from(std::string_view key) {
  if (key.size() <= sizeof(Sequence)) return std::nullopt;
  const auto seq = take_big_endian<Sequence>(key);
  return ReusePlace{.seq = seq, .run_key = key};
}

std::string reuse_value(std::int64_t at_ms) {
  return sequence_key(static_cast<std::uint64_t>(at_ms));
}

std::optional<std::int64_t> reused_at_ms_from(std::string_view value) {
  const auto at_ms = sequence_from(value);
  if (!at_ms) return std::nullopt;
  return static_cast<std::int64_t>(*at_ms);
}

std::string sender_key(const Hash& hash, std::string_view submitter) {
  std::string key(as_bytes(hash));
  return key.append(submitter);
}

std::string sender_end(const Hash& hash) {
  std::string end(as_bytes(hash));
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xFF) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

std::string board_key(const Hash& problem, std::string_view device_model) {
  return hash_key(problem).append(device_model);
}

std::string kernel_key(const Hash& problem, const Hash& kernel, std::string_view device_model) {
  return hash_key(problem) + hash_key(kernel) + std::string(device_model);
}

}  // namespace kq::store
