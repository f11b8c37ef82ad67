// Makes keys with ZeroMQ's CURVE functions, for `kq-ctl keygen`.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"
#include "net/keys.h"

namespace kq::net {

KeyPair make_key_pair();

// Makes a key pair for `who`, writes it to `path`, which must not exist, and authorizes it. Makes the broker's key
// folder first if it does not exist. The holder of the file at `path` is `who` to the broker.
Expected<ClientKey> issue_key(const std::string& folder, const Identity& who, const std::string& path);

}  // namespace kq::net
