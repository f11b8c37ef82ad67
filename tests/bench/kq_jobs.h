// The messages of the load programs to kq-broker, and their socket. The wire protocol is that of core/codec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "core/messages.h"
#include "net/keys.h"

namespace kq::bench {

// A DEALER socket that is connected to a broker on this machine. The socket never resends: a caller that waits too long
// for an answer sends again.
class KqSocket {
 public:
  KqSocket(zmq::context_t& context, int port, const std::optional<net::ClientKey>& key = std::nullopt);

  void send(std::string bytes);
  // Returns the next message, or nullopt if none comes within `wait_ms`. With 0, returns only a message that is here.
  std::optional<zmq::message_t> receive(int wait_ms);
  void* handle() { return socket_.handle(); }

 private:
  zmq::socket_t socket_;
};

inline std::string_view view(const zmq::message_t& message) {
  return {static_cast<const char*>(message.data()), message.size()};
}

// Makes a folder of keys for a broker, and the key files FOLDER.submit for all clients and FOLDER.work for all workers.
void issue_keys(const std::string& folder);
// Reads the key of a role that issue_keys() wrote; returns nullopt for an empty folder name.
std::optional<net::ClientKey> issued_key(const std::string& folder, Role role);

// Returns the submission of one job with this source. Different sources give different job keys. The problem is
// problem_blob().
Submission submission_of(const Hash& source, const std::string& label, const std::string& author);
const Blob& problem_blob();

// Returns the hello of a worker with one GPU; the worker's name makes the UUID of the GPU unique.
Hello hello_of(const std::string& worker, std::uint64_t epoch, std::uint32_t credit);
// Returns the result of a passed job with 20 samples of the submission and 20 of the reference.
Result passed_result(const DeviceInfo& device);

}  // namespace kq::bench
