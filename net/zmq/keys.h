// Making keys: what `kq-ctl keygen` does. The curve is ZeroMQ's.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"
#include "net/keys.h"

namespace kq::net {

KeyPair make_key_pair();

// Makes the broker's folder of keys where there is none yet, draws a pair for `who`, writes it to `path` (a new file)
// and authorizes it. Whoever is given that file is `who`.
Expected<ClientKey> issue_key(const std::string& folder, const Identity& who, const std::string& path);

}  // namespace kq::net
