// A single-threaded ZMTP transport for one machine, without keys: the calling thread sends and receives messages
// (net/local/zmtp.h), not an I/O thread of ZeroMQ.
//
// ZeroMQ passes every message between threads, which costs more than most messages are worth. Here the sockets are read
// and written only during calls of the links. Peers may use ZeroMQ and notice no difference.
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
