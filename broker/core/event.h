// What the broker's core is told, and what it wants said. Peers are opaque identities; the type says which socket they
// belong to.
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
  Identity who = {};
};
struct FromWorker {
  std::string peer;
  Message<WorkerRequest> message;
  Identity who = {};
};
// The link could not hand these leases, or builds, to the worker's connection: the worker never saw them.
struct Undelivered {
  std::string peer;
  std::vector<LeaseId> leases;
};
// Space (store/store.h) says how the store's disk stands, about once a second, and after each 32 MB committed: while it
// is nearly full, submissions are answered `busy`.
//
// A turn begins, and time has passed. It is stepped only when the writes of every earlier turn are committed: what it
// queues is read from the store.
struct Tick {
  std::int64_t away_ms = 0;  // since the last one, that the loop could hear nobody, where it was long: what was not
                             // heard is nobody's silence
};
// A turn ends: jobs go to workers, those that came in this turn too.
struct Dispatch {};
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

// For the log. The core has none of its own.
struct Note {
  NoteLevel level = NoteLevel::info;
  std::string text;
};

}  // namespace kq::broker
