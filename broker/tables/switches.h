// What admins switched: paused submitters and draining workers. Family meta of the store has the same.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace kq::broker {

struct Switches {
  std::set<std::string> paused{};  // names of submitters; "" pauses everybody
  // Names of workers, and the time since when each drains: 0 for those that drained before this broker started.
  std::map<std::string, std::int64_t> draining{};
};

}  // namespace kq::broker
