// What the verbs of kq-ctl may touch: output streams, a broker, the clock and the stores of this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "core/base/error.h"
#include "producer/client/client.h"
#include "store/store.h"
#include "store/verify.h"

namespace kq::tools {

// Receives one line about each problem that is found in a store.
using ReportProblem = std::function<void(const std::string& problem)>;

// The ports of a verb. The main function fills in the real ones; tests fill in a scripted broker, string streams and a
// clock that stands still.
struct CtlWorld {
  std::ostream& out;
  std::ostream& err;
  // Connects to the broker at `url`, or for an empty URL to the one that is found without an option
  // (producer::default_broker()); `key` is the path of a key file, or empty.
  std::function<Expected<producer::Client>(const std::string& url, const std::string& key)> connect;
  // Connects to the broker of a state folder, or for an empty name to the one that connect() finds. Where none runs,
  // but the state folder has a store, starts a broker there for as long as the program runs.
  std::function<Expected<producer::Client>(const std::string& state, const std::string& key)> connect_or_start = {};
  std::function<std::int64_t()> unix_now_ms;
  // Waits for `ms`, or until a stop signal arrives. Returns whether the verb should stop waiting.
  std::function<bool(std::int64_t ms)> sleep;
  // store::verify() of the store in the directory `dir`, and store::restore() of the backup `from` into `dir`. Both are
  // ports because only a main function links the real store.
  std::function<Expected<store::Verified>(const std::string& dir, const ReportProblem&)> verify;
  std::function<Expected<store::Verified>(const std::string& from, const std::string& dir, const ReportProblem&)>
      restore;
  // Opens the store in a directory. For an empty name, opens the store that readers find without an option, or returns
  // null where they find a broker.
  std::function<Expected<std::unique_ptr<store::Store>>(const std::string& dir)> open_store =
      [](const std::string&) -> Expected<std::unique_ptr<store::Store>> { return nullptr; };
};

}  // namespace kq::tools
