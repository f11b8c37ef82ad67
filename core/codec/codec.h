// Encodes messages and records as msgpack bytes, and decodes them. No other code uses msgpack_reader.h and
// msgpack_writer.h.
//
// In a message a struct is a map from field names to values, so that either peer may be the newer one: the decoder
// skips unknown names, and an absent field keeps its default. In a record a struct is an array of its values in the
// order of fields(). New fields are only added at the end; the decoder skips surplus values, and a missing field keeps
// its default. The decoder accepts both forms everywhere. An enum is encoded as its name, a variant as [name, body], a
// Hash as 32 bytes, and a double keeps every bit.
//
// The input of decode() may be hostile. Size, depth and counts are limited (core/limits.h), trailing bytes are refused,
// and every error is bad input that says what is wrong and in which field.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/messages.h"
#include "core/plan.h"
#include "core/records.h"

namespace kq {

// T is one of the records: Submission, JobRecord, Result, Samples, Requirements, RunEntry, ShortRunEntry, RunRow,
// RunOwner, LeaderboardRow, BuildObject, ProblemCertificate.
template <class T>
std::string encode(const T& value);
template <class T>
Expected<T> decode(std::string_view bytes);

// The size of a value inside a message. A message has the limits kMessageBytesMax and kMessageItemsTotalMax.
struct MessageSize {
  std::size_t bytes = 0;  // an upper bound
  std::size_t items = 0;  // elements of all arrays and maps
};
// T is Result or RunRow.
template <class T>
MessageSize message_size(const T& value);

// Body is one of ClientRequest, ClientReply, WorkerRequest, WorkerReply, JudgeRequest, JudgeReply.
template <class Body>
std::string encode_message(const Message<Body>& message);
// Appends the encoded message to `out`, so that a sender of many messages can reuse one buffer.
template <class Body>
void append_message(std::string& out, const Message<Body>& message);
template <class Body>
Expected<Message<Body>> decode_message(std::string_view bytes);

}  // namespace kq
