// Connects brokers with clients and workers. With keys, the broker has two ROUTER sockets and every other program a
// DEALER socket of ZeroMQ. Without keys, only programs of this machine may connect, and net/local/link.h implements the
// same protocol with less work.
//
// ZeroMQ does not guarantee delivery: a message may be lost with its connection. A send that cannot go out now is
// refused instead of queued without limit, and no message is kept for an absent peer; the protocol resends what is not
// answered.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "net/endpoint.h"
#include "net/keys.h"
#include "net/limits/server_limits.h"
#include "net/link.h"

namespace kq::net {

// How bind_server() binds the sockets.
struct ServerOptions {
  // The key folder, see net/keys.h; if empty, the broker runs without keys and only on a loopback address
  std::string key_folder{};
  ServerLimits limits{};
  // The broker answers each message of a peer whose key has been revoked with this text, one for each Side. The
  // connection of the peer stays open. An empty text means that the broker does not answer.
  std::array<std::string, 2> farewells{};
};

// Binds both of the broker's sockets. With keys every connection is encrypted and has an authorized key, also on this
// machine. A second broker on the same ipc path would take the path over without an error (ZeroMQ 4.3.4), so the broker
// holds a lock file of its own.
Expected<std::unique_ptr<ServerLink>> bind_server(const Endpoints& endpoints, const ServerOptions& options = {});

// Connects in the background, and reconnects after each loss. While no server is there, sends are not accepted. If the
// keys of the broker and `key` do not fit, refusal() says so.
Expected<std::unique_ptr<ClientLink>> connect_client(const std::string& endpoint,
                                                     const std::optional<ClientKey>& key = std::nullopt);

// Does the same with the brokers of parse_broker_urls(), of which one serves and the others do not listen.
Expected<std::unique_ptr<ClientLink>> connect_brokers(const std::vector<Endpoints>& brokers, Side side,
                                                      const std::optional<ClientKey>& key = std::nullopt);

// Reads the key file of a program that connects to this socket. Returns an empty optional for an empty path, and
// bad_input if the key's role may not use the socket.
Expected<std::optional<ClientKey>> read_key_for(Side side, const std::string& path);
// Does the same for a standby broker, whose key has the role standby.
Expected<std::optional<ClientKey>> read_standby_key(const std::string& path);

}  // namespace kq::net
