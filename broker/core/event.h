// The inputs of the broker's core, and the messages and notes that it produces.
//
// A peer is an opaque identity of a connection; the type of the event or message says to which socket it belongs.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/enum_names.h"
#include "core/identity.h"
#include "core/messages.h"
#include "store/store.h"

namespace kq::broker {

struct FromClient {
  std::string peer;
  Message<ClientRequest> message;
  Identity identity = {};
};
struct FromWorker {
  std::string peer;
  Message<WorkerRequest> message;
  Identity identity = {};
};
// The link could not hand these leases or builds to the worker's connection, so the worker never received them.
struct Undelivered {
  std::string peer;
  std::vector<LeaseId> leases;
};
// Begins a turn. It is stepped only when the writes of all earlier turns are committed, because it reads what they
// queued from the store.
struct Tick {
  // How long the loop was stalled before this turn, or 0 for a short stall. Peers must not be declared dead for
  // messages that the loop could not read in that time.
  std::int64_t stalled_ms = 0;
};
// Ends a turn: queued jobs go to workers, those that were submitted in this turn too.
struct Dispatch {};
// store::Space is the free space of the store's disk. The loop sends it about once a second and after each 32 MB
// committed. While the disk is nearly full, submissions are answered `busy`.
using Event = std::variant<FromClient, FromWorker, Undelivered, store::Space, Tick, Dispatch>;

struct ToClient {
  std::string peer;
  Message<ClientReply> message;
};
struct ToWorker {
  std::string peer;
  Message<WorkerReply> message;
};
using Send = std::variant<ToClient, ToWorker>;

enum class NoteLevel { debug, info, warning };
constexpr std::array<std::string_view, 3> enum_names(NoteLevel) {
  return {"debug", "info", "warning"};
}

// A line for the log. The core does not log by itself.
struct Note {
  NoteLevel level = NoteLevel::info;
  std::string text;
};

}  // namespace kq::broker
