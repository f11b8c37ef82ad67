// What the load programs say to kq-broker, and the socket they say it on. The wire protocol is the real one
// (core/codec).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "core/messages.h"
#include "net/keys.h"

namespace kq::bench {

// A DEALER of its own. Whoever waits too long for an answer sends again; here that is a broker that does not answer at
// all.
class KqSocket {
 public:
  KqSocket(zmq::context_t& context, int port, const std::optional<net::ClientKey>& key = std::nullopt);

  void send(std::string bytes);
  // Nothing within that time. 0: what is here already.
  std::optional<zmq::message_t> receive(int wait_ms);
  void* handle() { return socket_.handle(); }

 private:
  zmq::socket_t socket_;
};

inline std::string_view view(const zmq::message_t& message) {
  return {static_cast<const char*>(message.data()), message.size()};
}

// Makes a folder of keys for a broker, and beside it one key for all clients and one for all workers.
void issue_keys(const std::string& folder);
// The key of that role; nothing for an empty folder name.
std::optional<net::ClientKey> issued_key(const std::string& folder, Role role);

// One job around that source: a key of its own by its hash, a label by its number. Its problem is problem_blob().
Submission submission_of(const Hash& source, const std::string& label, const std::string& author);
const Blob& problem_blob();

// A worker with one GPU that nothing else has.
Hello hello_of(const std::string& worker, std::uint64_t epoch, std::uint32_t credit);
// A passed job with 20 + 20 samples, like that of an ordinary problem.
Result passed_result(const DeviceInfo& device);

}  // namespace kq::bench
