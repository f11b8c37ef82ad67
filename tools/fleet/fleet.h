// The program kq-fleet: keeps as many workers in a batch system as the queue of a broker needs.
//
// Each round asks the broker for its queue and its workers and the batch system for the fleet's jobs, lets plan()
// decide, and carries the actions out. The fleet has no state of its own, so it can be killed and started again at any
// time; its workers go on meanwhile. A failed round is repeated with growing pauses, at most kFleetFailedRoundsMax
// times in a row.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "core/base/error.h"
#include "producer/client/client.h"
#include "tools/fleet/command.h"

namespace kq::tools {

inline constexpr int kFleetFailedRoundsMax = 10;
inline constexpr std::int64_t kFleetPauseMsMax = 5 * 60'000;  // the longest pause after failed rounds

// What kq-fleet may touch. The main function fills in the real ports, tests fill in scripted ones.
struct FleetWorld {
  std::ostream& out;
  std::ostream& err;
  std::function<Expected<producer::Client>(const std::string& url, const std::string& key)> connect;
  RunCommand run;
  std::function<std::int64_t()> unix_now_ms;
  // Waits for `ms`, or until a stop signal arrives. Returns whether the program should end.
  std::function<bool(std::int64_t ms)> sleep;
  std::string programs;  // the folder of kq's programs
};

// Runs the whole program with the arguments of main(), and returns the exit code of the process.
int run_fleet(int argc, const char* const* argv, const FleetWorld& world);

}  // namespace kq::tools
