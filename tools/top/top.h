// The program kq-top: a live screen of a queue, and the same facts as text or JSON.
//
// Theory of operation. On a terminal, a Watcher looks at the broker on a thread of its own, and this thread reads keys,
// takes signals and draws. A stop signal or an error destroys the screen, which restores the terminal, before anything
// is printed. Elsewhere one thread looks and prints, as kq-ctl does.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "producer/client/client.h"

namespace kq::tools {

class Screen;

inline constexpr double kTopIntervalMinS = 0.5;
inline constexpr double kTopIntervalMaxS = 3'600;
inline constexpr std::int64_t kTopReadingMs = 3'000;  // for counting runs before text or JSON is printed
inline constexpr std::int64_t kKeyWaitMs = 100;       // between two checks for signals and new facts

// The ports of the program.
struct TopWorld {
  std::ostream& out;
  // Connects to the broker at `url`, or for an empty URL to the one that is found without an option; `key` is the path
  // of a key file, or empty.
  std::function<Expected<producer::Client>(const std::string& url, const std::string& key)> connect;
  std::function<std::int64_t()> unix_now_ms;
  // Returns the next stop signal, or nothing when none arrives within `ms`.
  std::function<std::optional<int>(std::int64_t ms)> take_signal;
  bool is_terminal = false;   // whether input and output are a terminal on which a screen can be drawn
  bool takes_colour = false;  // whether the output may have colours
  // Takes over the terminal.
  std::function<Expected<std::unique_ptr<Screen>>()> open_screen;
};

// Runs the program with the arguments of main(), and returns the exit code of the process.
int run_top(int argc, const char* const* argv, const TopWorld& world);

}  // namespace kq::tools
