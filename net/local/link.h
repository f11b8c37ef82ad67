// A single-threaded ZMTP transport for one machine, without keys: the calling thread sends and receives messages
// (net/local/zmtp.h), not an I/O thread of ZeroMQ.
//
// ZeroMQ passes every message between threads, which costs more than most messages are worth. Here the sockets are read
// and written only during calls of the links. Peers may use ZeroMQ and notice no difference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "net/endpoint.h"
#include "net/limits/server_limits.h"
#include "net/link.h"

namespace kq::net {

// Binds both sockets of a broker without keys. The caller (net/zmq/link.h) passes only endpoints that other machines
// cannot reach.
Expected<std::unique_ptr<ServerLink>> bind_local_server(const Endpoints& endpoints, const ServerLimits& limits);

// Connects to a broker without keys, in the background. Returns bad_input if the endpoint is invalid.
Expected<std::unique_ptr<ClientLink>> connect_local_client(const std::string& endpoint);

// Connects to several brokers of which one serves (net/local/failover.cc). At least one endpoint is needed.
Expected<std::unique_ptr<ClientLink>> connect_local_clients(const std::vector<std::string>& endpoints);

}  // namespace kq::net
