// The network as ZeroMQ sees it: the broker's two ROUTERs and everybody else's DEALER.
//
// ZeroMQ promises less than it seems to: what is sent may still be lost with the connection. Here a send that cannot go
// out now is refused instead of queued without end, and nothing is kept for a peer that is away; the protocol's resends
// do the rest.
#pragma once

#include <memory>
#include <string>

#include "core/error.h"
#include "net/endpoint.h"
#include "net/link.h"

namespace kq {

// Binds both of the broker's sockets. Refuses any address that other machines reach: peers are not authenticated.
// A second broker on the same ipc path takes it away unnoticed (ZeroMQ 4.3.4), so the broker holds a lock of its own.
Expected<std::unique_ptr<ServerLink>> bind_server(const Endpoints& endpoints);

// Connects in the background and again after each loss; a server that is not there shows as sends that are not
// accepted.
Expected<std::unique_ptr<ClientLink>> connect_client(const std::string& endpoint);

// Messages of one peer that wait in each direction. Beyond it senders are told to try again later.
inline constexpr int kLinkMessagesMax = 256;

}  // namespace kq
