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

// Returns the name that the caller's jobs count against, where a batch names a submitter (empty: none). Without keys it
// is that name. With keys it is the name of the key, and a gateway's key adds the named one: "web/ada". So a gateway
// can divide its own share among its submitters, but not use the share of another key.
inline std::string submitter_of(const Caller& caller, const std::string& named) {
  if (caller.identity.name.empty()) return named;
  return caller.identity.role == Role::gateway && !named.empty() ? caller.identity.name + "/" + named
                                                                 : caller.identity.name;
}

// Returns whether jobs of this submitter are the caller's own.
inline bool owns_jobs_of(const Caller& caller, const std::string& submitter) {
  const std::string& name = caller.identity.name;
  return submitter == name || (caller.identity.role == Role::gateway && submitter.starts_with(name + "/"));
}

// Returns whether the caller has the role admin. If not, the request is answered with Refused.
inline bool require_admin(Step& step, const Caller& caller) {
  if (caller.identity.role == Role::admin) return true;
  reply(step, caller,
        Refused{"the key of " + caller.identity.name + " may submit and read; this needs a key with the role admin"});
  return false;
}

}  // namespace kq::broker
