// Encodes and decodes the keys of every family. Sequences are big-endian, so that byte order is numeric order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/bytes/compress.h"
#include "core/bytes/hash.h"
#include "core/job.h"
#include "core/submission.h"

namespace kq::store {

// Families state, body, result, samples, object: the 8 bytes of the sequence.
std::string sequence_key(Sequence seq);
std::optional<Sequence> sequence_from(std::string_view key);

// Family ids: 32 bytes of the submission key -> 8 bytes of the sequence. Family blob: 32 bytes of the content hash.
std::string hash_key(const Hash& hash);
// The key of a packed blob: 32 bytes of the hash of its unpacked content, then 'z' for zstd or '4' for LZ4. It follows
// the key of the raw blob.
std::string blob_key(const Hash& hash, Packing packing);
std::optional<std::pair<Hash, Packing>> blob_place_from(std::string_view key);

// Family run: run, NUL, label. Names hold no NUL (core/submission.h, name_error).
std::string run_key(std::string_view run, std::string_view label);
std::string run_prefix(std::string_view run);      // first possible key of the run
std::string run_prefix_end(std::string_view run);  // first key after every key of the run

// Family reuse: sequence (8 bytes), then a key of family run.
std::string reuse_key(Sequence seq, std::string_view run_key);
struct ReusePlace {
  Sequence seq = 0;
  std::string_view run_key;
};
std::optional<ReusePlace> reuse_place_from(std::string_view key);
std::string reuse_value(std::int64_t at_ms);
std::optional<std::int64_t> reused_at_ms_from(std::string_view value);

// Family sender: 32 bytes of the content hash, then the submitter who sent the bytes. sender_end() returns the first
// key after every key of the hash; empty where no key can follow.
std::string sender_key(const Hash& hash, std::string_view submitter);
std::string sender_end(const Hash& hash);

// Family owner: the name of the run.

// Family board: problem hash, then the device model.
std::string board_key(const Hash& problem, std::string_view device_model);
// Family kernel: hash of the board, hash of the kernel, then the device model.
std::string kernel_key(const Hash& problem, const Hash& kernel, std::string_view device_model);

// Family queue: class (4 bytes), priority (1), submitter (4), sequence (8), all big-endian. The first three fields
// identify a lane. Family meta holds the numbers of classes and submitters. queue_end() returns the first key after
// every key of the lane.
struct LaneId {
  std::uint32_t needs = 0;  // number of its Requirements
  Priority priority = Priority::normal;
  std::uint32_t submitter = 0;

  friend auto operator<=>(const LaneId&, const LaneId&) = default;
};
std::string queue_key(const LaneId& lane, Sequence seq);
std::string queue_end(const LaneId& lane);
struct QueuePlace {
  LaneId lane;
  Sequence seq = 0;
};
std::optional<QueuePlace> queue_place_from(std::string_view key);

// The value in family queue, 21 bytes: what the scheduler needs to know of each queued job.
struct QueueEntry {
  std::uint64_t problem = 0;  // first bytes of the problem's hash: enough to prefer a problem that a worker has warm
  std::int64_t submitted_at_ms = 0;
  std::uint32_t bytes = 0;  // as in the JobRecord
  bool leased = false;      // the job is leased, or was leased when the broker ended

  friend bool operator==(const QueueEntry&, const QueueEntry&) = default;
};
std::string queue_value(const QueueEntry& entry);
std::optional<QueueEntry> queue_entry_from(std::string_view value);

// Family timer: Unix time in ms (8 bytes), kind (1), sequence (8). The value of `expires` is empty. The value of
// `may_run` is the lane (9 bytes, as in family queue) and the entry under which the job will be queued.
enum class TimerKind : std::uint8_t { may_run, expires };
struct TimerPlace {
  std::int64_t at_ms = 0;
  TimerKind kind = TimerKind::may_run;
  Sequence seq = 0;
};
std::string timer_key(const TimerPlace& place);
std::string timer_end(std::int64_t at_ms);  // the first key after every timer of `at_ms` or earlier
std::optional<TimerPlace> timer_place_from(std::string_view key);
std::string timer_value(const LaneId& lane, const QueueEntry& entry);
std::optional<std::pair<LaneId, QueueEntry>> timer_value_from(std::string_view value);

// Family meta.
inline constexpr std::string_view kClassPrefix = "class/";          // + number (4 bytes) -> Requirements
inline constexpr std::string_view kSubmitterPrefix = "submitter/";  // + number (4 bytes) -> name
inline constexpr std::string_view kPausedPrefix = "paused/";      // + submitter, or nothing for all submitters -> empty
inline constexpr std::string_view kDrainingPrefix = "draining/";  // + worker -> empty
std::string numbered_key(std::string_view prefix, std::uint32_t number);
std::optional<std::uint32_t> number_from(std::string_view prefix, std::string_view key);
inline constexpr std::string_view kSchemaKey = "schema_version";  // decimal text
inline constexpr std::string_view kNextSequenceKey =
    "next_sequence";  // 8 bytes as above: no sequence at or above it is in use
inline constexpr std::string_view kRetainedFromKey =
    "retained_from";  // 8 bytes: every job below it was removed; absent: none was

}  // namespace kq::store
