// Tests as tiny texts: lines of events go in, lines of writes and sends come out.
//
// One line is one event, `command name=value ...`; the files in broker/testdata show them all. Every event is a turn of
// its own, between a Tick and a Dispatch and committed with them, as in the real loop. `begin` and `commit` put several
// events into one turn. Values are spelled for people: a job is `label` or `label:source`, and a hash is shown
// as the content it stands for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "broker/broker.h"

namespace kq::broker {

// A line of a script, taken apart.
struct Command {
  std::string name;
  std::map<std::string, std::string, std::less<>> values;

  std::string text(std::string_view value, std::string_view otherwise = "") const;
  std::uint64_t number(std::string_view value, std::uint64_t otherwise) const;
};
Command parse_command(std::string_view line);

class Script {
 public:
  // `store` is empty and outlives the script.
  explicit Script(store::Store& store);

  // What happened on one command line: zero or more lines. A mistake in the script comes out as text, too: "script:
  // ...".
  std::string run(std::string_view line);

 private:
  std::string start(const Command& command);
  std::string lose(const Command& command);
  std::string happen(std::optional<Event> event);
  std::string close(Ready turn);
  std::string step(Event event, Ready& turn);
  std::string finish(Ready turn);

  store::Store& store_;
  BrokerOptions options_;
  std::optional<Broker> broker_;
  std::int64_t now_ms_ = 0;
  std::optional<Ready> open_turn_;  // between begin and commit
};

// Runs a whole file: commands, a line `----`, then what must come out, until an empty line; lines with # are left
// alone. Returns the file as it would have to be: equal to `text` when all is well.
std::string run_script(std::string_view text, store::Store& store);

}  // namespace kq::broker
