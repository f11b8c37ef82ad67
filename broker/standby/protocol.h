// The messages between a serving broker and its standby. They travel over the socket of the workers.
//
// The standby asks with Follow and names the last commit that it has. The primary answers with a stream: LogPart
// messages if its log still has the commits after that one, else CopyPart messages with the files of a checkpoint. The
// standby reports what it has taken from the stream and what it has on disk (Progress). Alive keeps both ends sure that
// the other one lives. A message that belongs to another session than the current one is ignored, and a standby that
// misses a message asks again with a new session, so any message may be lost.
//
// The first byte is a number in msgpack, which no message of a client or worker begins with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "core/base/error.h"

namespace kq::broker {

// Bytes of one LogPart or CopyPart.
inline constexpr std::size_t kPartBytesMax = 256u << 10;
// The stream may be so many bytes ahead of what the standby has taken. A short message counts as kStreamBytesMin, so
// that at most 128 messages are on the way: a link keeps 256 for a peer.
inline constexpr std::size_t kStreamWindowBytes = 4u << 20;
inline constexpr std::size_t kStreamBytesMin = 32u << 10;

// What a message of `bytes` counts for the window.
constexpr std::uint64_t stream_cost(std::size_t bytes) {
  return bytes < kStreamBytesMin ? kStreamBytesMin : bytes;
}

// Standby to primary: send what follows. A standby without a store has the position 0.
struct Follow {
  std::uint64_t session = 0;  // a random number for this stream
  std::uint64_t epoch = 0;    // of the standby's store, see history.h
  std::uint64_t tag = 0;
  std::uint64_t position = 0;
  std::string name;  // of the standby: host and store

  static auto fields(auto& self) { return std::tie(self.session, self.epoch, self.tag, self.position, self.name); }
};

// Standby to primary: what the standby has taken from the stream, as the sum of stream_cost(), and the last change that
// it has on disk.
struct Progress {
  std::uint64_t session = 0;
  std::uint64_t taken = 0;
  std::uint64_t position = 0;

  static auto fields(auto& self) { return std::tie(self.session, self.taken, self.position); }
};

// From a broker that serves a later epoch: the receiver must not serve any more.
struct Fence {
  std::uint64_t epoch = 0;
  std::string url;  // of the sender

  static auto fields(auto& self) { return std::tie(self.epoch, self.url); }
};

// Primary to standby: a part of one commit.
struct LogPart {
  std::uint64_t session = 0;
  std::uint64_t first = 0;  // numbers of the commit's changes
  std::uint64_t last = 0;
  std::uint64_t offset = 0;  // of this part in the commit
  std::uint64_t total = 0;   // bytes of the commit
  std::string bytes;

  static auto fields(auto& self) {
    return std::tie(self.session, self.first, self.last, self.offset, self.total, self.bytes);
  }
};

// Primary to standby: a part of a file of a checkpoint. A part without a name ends the copy.
struct CopyPart {
  std::uint64_t session = 0;
  std::string name;
  std::uint64_t offset = 0;
  std::string bytes;

  static auto fields(auto& self) { return std::tie(self.session, self.name, self.offset, self.bytes); }
};

// Primary to standby: where the primary is.
struct Alive {
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;

  static auto fields(auto& self) { return std::tie(self.session, self.epoch, self.position); }
};

// Primary to standby: why the primary does not let it follow. The standby asks again later.
struct NotFollowed {
  std::string reason;

  static auto fields(auto& self) { return std::tie(self.reason); }
};

using StandbyMessage = std::variant<Follow, Progress, Fence, LogPart, CopyPart, Alive, NotFollowed>;

// Whether a received message is one of these and not one of core/messages.h.
bool is_standby_message(std::string_view bytes);

std::string encode_standby(const StandbyMessage& message);
// Returns bad_input for malformed bytes and for a message of another version.
Expected<StandbyMessage> decode_standby(std::string_view bytes);

}  // namespace kq::broker
