// The name of a worker at its broker. Operators drain a worker by its name, so the name stays the same when the worker
// or its machine is restarted.
#pragma once

#include <string>
#include <vector>

namespace kq::worker {

struct NameSources {
  std::string key;                       // the name of the worker's key; empty for no key
  std::string host;                      // the name of the machine
  std::string devices = "auto";          // the value of --devices
  std::vector<std::string> compile_for;  // the values of --compile-for
};

// Returns the name of the key. Without a key, returns the host, followed by the devices where --devices chooses among
// those of the host: "lab3", "lab3:cuda:1", "lab3:builds:sm_90". Workers with equal names are drained together.
std::string default_worker_name(const NameSources& sources);

}  // namespace kq::worker
