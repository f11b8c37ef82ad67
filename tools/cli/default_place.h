// Where readers find results that no option names: at the broker or in the store of the state folder that this user's
// last kq up or kq sweep used.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/stack/state_folder.h"

namespace kq::tools {

// A broker's URL or a store. Exactly one of them is not empty.
struct Place {
  std::string broker;
  std::string store;
  std::string state_folder{};  // the state folder with the store, if the store was found in one
};

// What default_place() asks the machine. Tests replace it.
struct PlaceQuestions {
  Environment environment = process_environment;
  std::function<bool(const std::string& url)> is_listening;
};

// Returns $KQ_BROKER, else the store $KQ_STORE, else the broker that runs in the state folder of the last kq up or in
// the default one, else the broker at the default URL if one listens there, else the store of that one of these two
// folders that was used last, else the default URL.
Place default_place(const PlaceQuestions& ask);

// Returns the state folders of this user that have a store and in which no broker runs, the one that was used last
// first: the folder of the last kq up and the default one.
std::vector<std::string> idle_state_folders(const Environment& environment);

// Returns whether a process listens at a tcp:// URL of this machine or at an ipc:// URL. Returns true for other hosts,
// because only connecting to them tells.
bool is_listening(const std::string& url);

}  // namespace kq::tools
