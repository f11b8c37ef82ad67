// The keys of every family. Sequences are big-endian so that byte order is numeric order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/hash.h"
#include "core/job.h"

namespace kq {

// Families state, body, result, samples: the 8 bytes of the sequence.
std::string sequence_key(Sequence seq);
std::optional<Sequence> sequence_from(std::string_view key);

// Family ids: 32 bytes of the submission key -> 8 bytes of the sequence. Family blob: 32 bytes of the content hash.
std::string hash_key(const Hash& hash);

// Family run: run NUL label. Names hold no NUL (core/submission.h, name_complaint).
std::string run_key(std::string_view run, std::string_view label);
std::string run_prefix(std::string_view run);      // first possible key of the run
std::string run_prefix_end(std::string_view run);  // first key after every key of the run

// Family board: problem hash, then the device model.
std::string board_key(const Hash& problem, std::string_view device_model);

// Family meta.
inline constexpr std::string_view kSchemaKey = "schema_version";  // decimal text
inline constexpr std::string_view kNextSequenceKey = "next_sequence";  // 8 bytes as above: no sequence at or above it is in use

}  // namespace kq
