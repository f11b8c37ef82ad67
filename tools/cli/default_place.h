// Where readers find results that no option names: at the broker or in the store of the default state folder, which the
// last kq sweep or kq up on this machine used.
#pragma once

#include <functional>
#include <string>

#include "tools/stack/state_folder.h"

namespace kq::tools {

// A broker's URL or a store. Exactly one of them is not empty.
struct Place {
  std::string broker;
  std::string store;
};

// What default_place() asks the machine. Tests replace it.
struct PlaceQuestions {
  Environment environment = process_environment;
  std::function<bool(const std::string& url)> is_listening;
};

// Returns $KQ_BROKER, else the store $KQ_STORE, else the broker that runs in the default state folder, else the broker
// at the default URL if one listens there, else the store of the default state folder, else the default URL.
Place default_place(const PlaceQuestions& ask);

// Returns whether a process listens at a tcp:// URL of this machine or at an ipc:// URL. Returns true for other hosts,
// because only connecting to them tells.
bool is_listening(const std::string& url);

}  // namespace kq::tools
