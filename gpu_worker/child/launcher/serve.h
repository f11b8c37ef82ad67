// The launcher's side of the channel (gpu_worker/channel/channel.h). It serves the commands of the judge to a
// submission child without Python.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/child/launcher/binding.h"
#include "gpu_worker/child/launcher/gpu.h"

namespace kq::launcher {

// Receives and maps the page, which the judge sends first. Returns null if none arrives or its layout is another.
channel::Page* receive_page(int channel);

// Serves the judge's commands for one kernel, one command at a time.
class Server {
 public:
  // `gpu` is the child's GPU, or the fault why it has none, which then is the answer to every command. `source` is the
  // directory of the build's files.
  Server(Outcome<std::unique_ptr<Gpu>> gpu, channel::Page& page, int channel, std::string source);

  // Serves commands until the judge is gone. While no command arrives, it checks that every `check_ns` nanoseconds.
  void run(std::int64_t check_ns = 1'000'000'000);
  // Runs one command and writes its outcome to the page.
  void answer(channel::Command command, std::uint32_t number);

 private:
  Outcome<void> handle(channel::Command command);
  Outcome<void> attach();
  Outcome<void> load();
  Outcome<void> null_call();
  Outcome<void> call(std::uint64_t shift);
  Outcome<void> burst();

  Outcome<std::unique_ptr<Gpu>> gpu_;
  channel::Page& page_;
  int channel_;
  std::string source_;
  std::uint64_t window_ = 0;
  std::uint64_t window_bytes_ = 0;
  std::optional<LaunchPlan> plan_;
  std::optional<Binding> binding_;
};

}  // namespace kq::launcher
