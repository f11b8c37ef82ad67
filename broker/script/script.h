// The script language of the broker's tests: lines of events go in, lines of writes and sends come out.
//
// One line is one event, `command name=value ...`; the files in broker/testdata show all commands. Every event is a
// turn of its own, between a Tick and a Dispatch and committed with them, as in the real loop. `begin` and `commit` put
// several events into one turn. Values are written for people: a job is `label` or `label:source`, and a hash is shown
// as the content that it stands for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "broker/broker.h"

namespace kq::broker {

// A parsed line of a script.
struct Command {
  std::string name;
  std::map<std::string, std::string, std::less<>> values;

  std::string text(std::string_view value, std::string_view fallback = "") const;
  std::uint64_t number(std::string_view value, std::uint64_t fallback) const;
};
Command parse_command(std::string_view line);

class Script {
 public:
  // `store` must be empty and outlive the script.
  explicit Script(store::Store& store);

  // Runs one line, and returns what happened as zero or more lines. A mistake in the script is returned as a line
  // "script: ...".
  std::string run(std::string_view line);

 private:
  std::string start(const Command& command);
  std::string lose(const Command& command);
  std::string run_event(std::optional<Event> event);
  std::string close(Ready turn);
  std::string step(Event event, Ready& turn);
  std::string finish(Ready turn);

  store::Store& store_;
  BrokerOptions options_;
  std::optional<Broker> broker_;
  std::int64_t now_ms_ = 0;
  std::optional<Ready> open_turn_;  // between begin and commit
};

// Runs a whole file. It consists of blocks: commands, a line `----`, and the expected output, until an empty line.
// Lines that begin with # are comments. Returns the file with the actual output: it equals `text` if the output is as
// expected.
std::string run_script(std::string_view text, store::Store& store);

}  // namespace kq::broker
