// The identity of a peer: the name and the role of its key. The network layer proves the identity, and the broker
// decides by it what the peer may do.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"

namespace kq {

// The rights of a key. `submit` may submit jobs and read results. `work` may take jobs. `admin` may do what `submit`
// may, and may also operate the broker. `gateway` may do what `submit` may, and names the submitter of its jobs.
// `standby` may copy the whole store, as a second broker does.
enum class Role { submit, work, admin, gateway, standby };
constexpr std::array<std::string_view, 5> enum_names(Role) {
  return {"submit", "work", "admin", "gateway", "standby"};
}

struct Identity {
  std::string name;         // the name in the list of keys; empty where the broker runs without keys
  Role role = Role::admin;  // a broker without keys accepts only peers of its own machine, and they have every right

  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace kq
