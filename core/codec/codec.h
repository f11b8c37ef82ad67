// Bytes <-> messages and records. msgpack inside (msgpack_reader.h, msgpack_writer.h); nobody else knows.
//
// In a message a struct is a map of its field names, so both sides may be newer than the other: unknown names are
// skipped, absent ones keep their default. In a record it is an array of the values in the order of fields(), to whose
// end alone something is added: what is too many is skipped, what is missing keeps its default. Both are read
// everywhere. An enum is its name, a variant is [name, body], a Hash is 32 bytes, a double keeps every bit. decode()
// takes hostile bytes: size, depth and counts are bounded (core/limits.h), trailing bytes are refused, and the Error
// says what was wrong, as bad input.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/messages.h"
#include "core/plan.h"
#include "core/records.h"

namespace kq {

// Records: Submission, JobRecord, Result, Samples, Requirements, RunEntry, ShortRunEntry, RunRow, LeaderboardRow,
// BuildObject. Also ClientRequest ... inside Message below.
template <class T>
std::string encode(const T& value);
template <class T>
Expected<T> decode(std::string_view bytes);

// Wire messages: Body is one of ClientRequest, ClientReply, WorkerRequest, WorkerReply, JudgeRequest, JudgeReply.
template <class Body>
std::string encode_message(const Message<Body>& message);
// The same behind what `out` holds: whoever sends much keeps one buffer for it.
template <class Body>
void append_message(std::string& out, const Message<Body>& message);
template <class Body>
Expected<Message<Body>> decode_message(std::string_view bytes);

}  // namespace kq
