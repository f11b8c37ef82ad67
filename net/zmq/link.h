// The network as ZeroMQ sees it: the broker's two ROUTERs and everybody else's DEALER. With keys ZeroMQ itself does it;
// without them, which is for this machine alone, net/local/link.h says the same with less work.
//
// ZeroMQ promises less than it seems to: what is sent may still be lost with the connection. Here a send that cannot go
// out now is refused instead of queued without end, and nothing is kept for a peer that is away; the protocol's resends
// do the rest.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "net/endpoint.h"
#include "net/keys.h"
#include "net/limits/server_limits.h"
#include "net/link.h"

namespace kq::net {

struct ServerOptions {
  std::string key_folder{};  // net/keys.h; empty: no keys, and no address that other machines reach
  ServerLimits limits{};
};

// Binds both of the broker's sockets. With keys every connection is encrypted and belongs to a key of the list, also on
// this machine. A second broker on the same ipc path takes it away unnoticed (ZeroMQ 4.3.4), so the broker holds a lock
// of its own.
Expected<std::unique_ptr<ServerLink>> bind_server(const Endpoints& endpoints, const ServerOptions& options = {});

// Connects in the background and again after each loss; a server that is not there shows as sends that are not
// accepted. A broker with other keys than `key`, or with keys where there is none, shows as a refusal().
Expected<std::unique_ptr<ClientLink>> connect_client(const std::string& endpoint,
                                                     const std::optional<ClientKey>& key = std::nullopt);

// The key file of whoever connects to this socket; an empty path: none. Bad input if its role is not for that socket.
Expected<std::optional<ClientKey>> read_key_for(Side side, const std::string& path);

}  // namespace kq::net
