// The client that sent a request, and how to answer it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "broker/core/step.h"
#include "core/identity.h"

namespace kq::broker {

struct Caller {
  std::string peer;
  std::uint64_t request_id = 0;
  Identity identity = {};
};

inline void reply(Step& step, const Caller& caller, ClientReply body) {
  step.ready.send_to_client(caller.peer, caller.request_id, std::move(body));
}

// Returns whether the caller has the role admin. If not, the request is answered with Refused.
inline bool require_admin(Step& step, const Caller& caller) {
  if (caller.identity.role == Role::admin) return true;
  reply(step, caller,
        Refused{"the key of " + caller.identity.name + " may submit and read; this needs a key with the role admin"});
  return false;
}

}  // namespace kq::broker
