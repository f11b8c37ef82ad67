// kq-top: shows a queue live, or prints what there is to see once. tools/top/top.h says how.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "producer/client/standard_output.h"
#include "sys/clock.h"
#include "sys/colour.h"
#include "tools/cli/flags.h"
#include "tools/stack/state_folder.h"
#include "tools/stack/stop_signals.h"
#include "tools/top/screen.h"
#include "tools/top/top.h"

namespace {

// A terminal without a name, or a dumb one, cannot place text.
bool is_screen() {
  const std::string terminal = kq::tools::process_environment("TERM");
  return !terminal.empty() && terminal != "dumb" && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

int run(int argc, char** argv) {
  kq::tools::StopSignals signals;
  const bool takes_colour = kq::sys::takes_colour(STDOUT_FILENO);
  const kq::tools::TopWorld world{
      .out = std::cout,
      .connect = [](const std::string& url, const std::string& key) { return kq::producer::Client::connect(url, key); },
      .unix_now_ms = kq::sys::unix_now_ms,
      .take_signal = [&](std::int64_t ms) { return signals.take(ms); },
      .is_terminal = is_screen(),
      .takes_colour = takes_colour,
      .open_screen = [&] { return kq::tools::open_terminal(takes_colour); }};
  std::vector<const char*> words(argv, argv + argc);
  if (!words.empty()) words.front() = "kq-top";
  return kq::tools::run_top(static_cast<int>(words.size()), words.data(), world);
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output("kq-top");
  return output.end(run(argc, argv));
}
