// Who asked, and where the answer goes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "broker/core/state.h"
#include "core/identity.h"

namespace kq::broker {

struct Caller {
  std::string peer;
  std::uint64_t request_id = 0;
  Identity who = {};
};

inline void reply(Step& step, const Caller& caller, ClientReply body) {
  step.ready.send_to_client(caller.peer, caller.request_id, std::move(body));
}

// Whether the caller may rule the queue; where not, it is told so.
inline bool may_rule(Step& step, const Caller& caller) {
  if (caller.who.role == Role::admin) return true;
  reply(step, caller,
        Refused{"the key of " + caller.who.name + " may submit and read; this needs a key with the role admin"});
  return false;
}

}  // namespace kq::broker
