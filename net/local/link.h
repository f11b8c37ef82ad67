// The network of one machine, without keys: what ZeroMQ would say (net/local/zmtp.h), said by the thread that has
// something to say.
//
// ZeroMQ hands every message over between threads, which costs the machine more than most messages are worth. Here the
// sockets are read and written where the links are used: nothing moves while nobody calls. Peers may use ZeroMQ all the
// same, and cannot tell.
#pragma once

#include <memory>
#include <string>

#include "core/base/error.h"
#include "net/endpoint.h"
#include "net/limits/server_limits.h"
#include "net/link.h"

namespace kq::net {

// Only where no other machine can come in: net/zmq/link.h decides.
Expected<std::unique_ptr<ServerLink>> bind_plain_server(const Endpoints& endpoints, const ServerLimits& limits);

Expected<std::unique_ptr<ClientLink>> connect_plain_client(const std::string& endpoint);

}  // namespace kq::net
