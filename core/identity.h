// Who speaks: the name and the role of a key. The network proves it, the broker acts on it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"

namespace kq {

// What a key allows: submit may submit and read, work may take jobs, admin may do what submit may and rule the broker.
enum class Role { submit, work, admin };
constexpr std::array<std::string_view, 3> enum_names(Role) {
  return {"submit", "work", "admin"};
}

struct Identity {
  std::string name;         // as in the list of keys; empty where the broker runs without keys
  Role role = Role::admin;  // without keys only this machine is let in, and it may do everything

  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace kq
