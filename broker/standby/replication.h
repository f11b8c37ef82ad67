// What the loop of a broker needs to know of a standby.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.h"
#include "net/link.h"

namespace kq::broker {

// The loop's view of a standby. primary.h implements it.
class Replication {
 public:
  virtual ~Replication() = default;
  // Handles a message of a standby. Returns false for a message of a client or worker. An error is fatal: another
  // broker serves.
  virtual Expected<bool> receive(const net::Packet& packet) = 0;
  // Sends the standby as much of what was committed as it can take now.
  virtual Expected<void> send() = 0;
  // Whether the replies of the last commit must wait, because a required standby does not have it on disk.
  virtual Expected<bool> must_wait() = 0;
  // How many changes the standby lacks; nothing without a standby.
  virtual std::optional<std::uint64_t> lag() const = 0;
  // Returns an error if this broker may no longer reply, because it has lost its lease.
  virtual Expected<void> check_lease() = 0;
};

}  // namespace kq::broker
